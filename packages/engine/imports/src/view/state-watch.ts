import { setTimeout as delay } from 'node:timers/promises'
import type { ImportState } from '@sluice/contract'
import { type Database, prepared } from '@sluice/database'
import type { ImportId } from '../context.ts'

/** Pause between two lookups of the awaited imports, ms. */
const pauseMs = 15
/** The pause is longer by this for each awaited import, ms. */
const pauseEachMs = 0.02

/** Waits for changes of state (changes.md §5). */
export interface StateWatch {
  /**
   * Resolves when the state of the import is another one than `state`, after the patience, when the client has gone, or
   * when the watch closes. Rejects with the errors of Postgres.
   */
  untilChanged(id: ImportId, state: ImportState, patience: Patience): Promise<void>
  /** Ends all waits. */
  close(): void
}

/** How long a request waits. */
interface Patience {
  ms: number
  /** Accepts what is to be called when the client has gone. */
  whenGone(end: () => void): void
}

interface Waiter extends ImportId {
  state: ImportState
  /** Of `performance.now()`. A timer for each of many requests would take more memory. */
  deadline: number
  end(error?: unknown): void
}

/**
 * Opens the watch of a process. However many requests wait, one statement at a time looks at all their imports, and no
 * wait holds a connection. Nothing is looked at while nobody waits.
 */
export function openStateWatch(db: Database): StateWatch {
  const waiters = new Set<Waiter>()
  let isClosed = false
  let isLooking = false

  async function look(): Promise<void> {
    if (isLooking) return
    isLooking = true
    while (waiters.size > 0) {
      await delay(pauseMs + waiters.size * pauseEachMs)
      const asked = [...waiters]
      const states = await statesOf(db, asked)
      for (const waiter of asked)
        if (states.get(waiter.importId) !== waiter.state || performance.now() >= waiter.deadline) waiter.end()
    }
    isLooking = false
  }

  return {
    untilChanged(id, state, { ms, whenGone }) {
      if (isClosed) return Promise.resolve()
      return new Promise((resolve, reject) => {
        const waiter: Waiter = {
          ...id,
          state,
          deadline: performance.now() + ms,
          end(error) {
            waiters.delete(waiter)
            if (error === undefined) resolve()
            else reject(error)
          },
        }
        waiters.add(waiter)
        whenGone(() => waiter.end())
        look().catch((error: unknown) => {
          isLooking = false
          for (const each of waiters) each.end(error)
        })
      })
    },
    close() {
      isClosed = true
      for (const waiter of waiters) waiter.end()
    },
  }
}

/** Returns the states of imports by ID. An import that is gone has none. */
async function statesOf(db: Database, ids: readonly ImportId[]): Promise<Map<string, ImportState>> {
  const distinct = [...new Map(ids.map((id) => [id.importId, id])).values()]
  const { rows } = await prepared<{ import_id: string; state: ImportState }>`
    select i.import_id, i.state
    from unnest(${distinct.map(({ appId }) => appId)}::integer[], ${distinct.map(({ importId }) => importId)}::uuid[])
      as awaited (app_id, import_id)
    join imports i using (app_id, import_id)
  `.execute(db)
  return new Map(rows.map((row) => [row.import_id, row.state]))
}
