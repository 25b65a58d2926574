import type { Connection } from './connection.ts'
import { delay } from './retries.ts'

/** Pauses between two polls, ms: the first one, and the longest one. */
const firstPollMs = 200
const longestPollMs = 2_000

/**
 * Polls an import or an export until it has ended or is held, and returns its last view. Calls `onView` with each view.
 * An outage of the API, such as a restart, may last as long as the connection's patience for outages.
 *
 * With `waits`, the API answers at the next change of state, so an end is seen at once. With `isUploaded`, storage has
 * the file: an import that expired during a slow upload is queued when the service notices the file. As long as the
 * patience for outages allows, this state is not taken for the end, and not passed to `onView`.
 */
export async function pollUntilEnd<View extends { state: string; finished_at: string | null }>(
  connection: Connection,
  path: string,
  { onView, signal, waits = false, isUploaded = false }: PollOptions<View>,
): Promise<View> {
  const began = performance.now()
  let known: string | undefined
  for (let pauseMs = firstPollMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPollMs)) {
    const asked = performance.now()
    const query = known === undefined || !waits ? '' : `?wait=${Math.ceil(pauseMs / 1_000)}&state=${known}`
    const call = { path: `${path}${query}`, signal }
    const { body: view } = await connection.send<View>(call, connection.outagePatienceMs)
    const isLate = isUploaded && view.state === 'expired' && asked - began < connection.outagePatienceMs
    if (!isLate) onView?.(view)
    if (!isLate && (view.finished_at !== null || view.state === 'held')) return view
    // The API may answer early. An API of an earlier version does not wait.
    const isNew = view.state !== known
    known = view.state
    if (!waits || !isNew) await delay(Math.max(0, pauseMs - (waits ? performance.now() - asked : 0)), signal)
  }
}

interface PollOptions<View> {
  onView?: ((view: View) => void) | undefined
  signal?: AbortSignal | undefined
  waits?: boolean
  isUploaded?: boolean
}
