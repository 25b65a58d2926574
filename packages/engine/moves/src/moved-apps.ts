import { setTimeout as delay } from 'node:timers/promises'
import { cellOf } from '@sluice/accounts'
import { type Database, sql } from '@sluice/database'
import type { FilesContext } from '@sluice/imports'

/** How often a process asks which apps are suspended or have moved, ms. */
const askEveryMs = 300

/** After this time, every process that works knows of a suspension, ms. */
export const noticeMs = 2 * askEveryMs + 200

/** How long a request waits for an app that is suspended, ms. */
const patienceMs = 6_000

/** An app is suspended for longer than a request waits. */
export class AppSuspended extends Error {
  override readonly name = 'AppSuspended'
}

/** The apps of a cell that are suspended, or have come or gone. */
export interface MovedApps {
  /**
   * Returns the cell that has an app, as soon as the app is not suspended. A forwarded request comes from the cell that
   * the app has left, so it waits for the app to arrive. Throws {@link AppSuspended}.
   */
  cellOf(appId: number, isForwarded: boolean): Promise<number>
  /** Whether an app has left this cell. */
  hasLeft(appId: number): boolean
  /** Returns the cells to which apps have left. */
  cellsOfLeft(): number[]
  close(): void
}

/** Follows which apps are suspended or have moved. `own` is the number of this cell. */
export function followMoves(db: Database, own: number, log: Pick<FilesContext['log'], 'warn'>): MovedApps {
  let moves = new Map<number, { cell: number; state: string; isSuspended: boolean }>()
  const ask = async () => {
    const isSuspended = sql<boolean>`coalesce(state = 'suspended' and suspended_until > clock_timestamp(), false)`
    const rows = await db
      .selectFrom('app_moves')
      .select(['app_id', 'cell', 'state', isSuspended.as('isSuspended')])
      .execute()
    moves = new Map(rows.map(({ app_id: appId, ...move }) => [appId, move]))
  }
  const warn = (error: unknown) => log.warn({ err: error }, 'moved apps not read')
  let asking = ask().catch(warn)
  const timer = setInterval(() => {
    asking = asking.then(() => ask().catch(warn))
  }, askEveryMs)
  timer.unref()
  const waits = (appId: number, isForwarded: boolean) => {
    const move = moves.get(appId)
    return move !== undefined && (move.isSuspended || (move.state === 'arriving' && isForwarded))
  }
  return {
    async cellOf(appId, isForwarded) {
      await asking
      const until = performance.now() + patienceMs
      while (waits(appId, isForwarded)) {
        if (performance.now() > until) throw new AppSuspended(`app ${appId} moves to another cell`)
        await delay(askEveryMs / 2)
      }
      const move = moves.get(appId)
      if (move === undefined) return cellOf(appId)
      return ['left', 'arriving'].includes(move.state) ? move.cell : own
    },
    hasLeft: (appId) => moves.get(appId)?.state === 'left',
    cellsOfLeft: () => [
      ...new Set([...moves.values()].filter(({ state }) => state === 'left').map(({ cell }) => cell)),
    ],
    close: () => clearInterval(timer),
  }
}
