import type { Connection } from './connection.ts'
import { delay } from './retries.ts'

/** Pauses between two polls, ms: the first one, and the longest one. */
const firstPollMs = 200
const longestPollMs = 2_000

/**
 * Polls an import or an export until it has ended or is held, and returns its last view. Calls `onView` with each view.
 * An outage of the API, such as a restart, may last as long as the connection's patience for outages.
 */
export async function pollUntilEnd<View extends { finished_at: string | null; state: string }>(
  connection: Connection,
  path: string,
  { onView, signal }: { onView?: ((view: View) => void) | undefined; signal?: AbortSignal | undefined },
): Promise<View> {
  for (let pauseMs = firstPollMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPollMs)) {
    const { body: view } = await connection.send<View>({ path, signal }, connection.outagePatienceMs)
    onView?.(view)
    if (view.finished_at !== null || view.state === 'held') return view
    await delay(pauseMs, signal)
  }
}
