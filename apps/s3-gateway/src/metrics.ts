import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { requestHistogram } from '@sluice/service'

/**
 * Counts the server's requests and measures their duration. The route tells files, buckets and other requests apart.
 */
export function observeRequests(server: Server, requests: ReturnType<typeof requestHistogram>): void {
  const observe = (request: IncomingMessage, response: ServerResponse) => {
    const startedAtMs = performance.now()
    response.once('close', () => {
      const labels = { method: request.method ?? '', route: routeOf(request.url ?? ''), status: response.statusCode }
      requests.observe(labels, (performance.now() - startedAtMs) / 1000)
    })
  }
  server.on('request', observe)
  server.on('checkContinue', observe)
}

function routeOf(url: string): string {
  const path = url.split('?', 1)[0] ?? ''
  if (/^\/[^/]+\/./.test(path)) return '/:bucket/:key'
  return path.length > 1 ? '/:bucket' : '/'
}
