import type { ServerResponse } from 'node:http'

/**
 * Returns a function that accepts what a request holds, as functions that release it. They are called when the response
 * has closed: it was sent, or the client disconnected. If it has already closed, each is called at once.
 *
 * A listener alone would miss a client that disconnected while the request waited for something else, such as a query.
 */
export function untilClosed(response: ServerResponse): (release: () => void) => void {
  const releases: (() => void)[] = []
  response.once('close', () => {
    for (const release of releases.splice(0)) release()
  })
  return (release) => {
    if (response.closed) release()
    else releases.push(release)
  }
}
