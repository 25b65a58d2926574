import type { ServerResponse } from 'node:http'

/**
 * Returns a function that accepts what a request holds, as functions that release it. They are called when the response
 * has closed: it was sent, or the client disconnected. If it has already closed, each is called at once.
 *
 * A listener alone would miss a client that disconnected while the request waited for something else, such as a query.
 */
export function untilClosed(response: ServerResponse): (release: () => void) => void {
  const releases: (() => void)[] = []
  return (release) => {
    if (response.closed) return release()
    if (releases.push(release) > 1) return
    response.once('close', () => {
      for (const each of releases.splice(0)) each()
    })
  }
}
