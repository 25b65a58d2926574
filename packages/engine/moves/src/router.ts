import type { Database } from '@sluice/database'
import type { FilesContext } from '@sluice/imports'
import { followMoves } from './moved-apps.ts'

/** The cell of a process, and the addresses of all cells' processes of its kind, by number of the cell. */
export interface Cells {
  own: number
  addresses: ReadonlyMap<number, string> | undefined
}

/** Finds the cell that answers a request. */
export interface CellRouter {
  /**
   * Returns the address of the cell that has an app. `forwards`: how often the request was forwarded. Returns undefined
   * if this process is to answer itself: for its own apps, unknown cells, and no app.
   *
   * A forwarded request is forwarded once more, if its app has left: two cells that disagree about an app must not
   * loop. Throws `AppSuspended`.
   */
  addressOf(appId: number | undefined, forwards: number): Promise<string | undefined>
  /** Returns the addresses of the cells to which apps have left. */
  addressesOfLeft(forwards: number): string[]
  close(): void
}

/** Opens the router of a process's requests, if there are other cells. It follows which apps move. */
export function openCellRouter(
  { db, log }: { db: Database; log: Pick<FilesContext['log'], 'warn'> },
  { own, addresses }: Cells,
): CellRouter | undefined {
  if (addresses === undefined) return undefined
  const movedApps = followMoves(db, own, log)
  return {
    async addressOf(appId, forwards) {
      if (appId === undefined || forwards > 1) return undefined
      const cell = await movedApps.cellOf(appId, forwards > 0)
      return cell === own || (forwards > 0 && !movedApps.hasLeft(appId)) ? undefined : addresses.get(cell)
    },
    addressesOfLeft(forwards) {
      return forwards > 1 ? [] : movedApps.cellsOfLeft().flatMap((cell) => addresses.get(cell) ?? [])
    },
    close: movedApps.close,
  }
}
