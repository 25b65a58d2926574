import { once } from 'node:events'
import type { ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Logger } from 'pino'
import { createClientServer } from './clients/server.ts'
import { untilListening } from './listening.ts'
import { exposition, type Metrics } from './metrics.ts'
import { checkReadiness, type Readiness } from './readiness.ts'

/** Options of {@link startOperationsServer}. */
export interface OperationsOptions {
  host: string
  /** 0 picks a free port. */
  port: number
  metrics: Metrics
  readiness: Readiness
  log: Logger
}

/** The server for operators. It gives no access to the data of any app. */
export interface OperationsServer {
  url: string
  close(): Promise<void>
}

/**
 * Serves `/metrics` (Prometheus), `/healthz` (200 while the process runs) and `/readyz`. `/readyz` answers 503 if the
 * process cannot work or is stopping, and 200 otherwise. It names the missing stores with their settings and errors.
 * Throws `SettingsError` if the port is in use.
 */
export async function startOperationsServer(options: OperationsOptions): Promise<OperationsServer> {
  const { host, port, log } = options
  const server = createClientServer((request, response) => {
    const [path] = (request.url ?? '').split('?')
    serve(request.method === 'GET' || request.method === 'HEAD' ? path : undefined, response, options).catch(
      (error: unknown) => {
        log.error({ err: error, path }, 'operations request failed')
        response.writeHead(500).end()
      },
    )
  })
  server.listen(port, host)
  await untilListening('METRICS', once(server, 'listening'))
  const address = server.address() as AddressInfo
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${address.port}`,
    async close() {
      server.close()
      server.closeAllConnections()
    },
  }
}

async function serve(
  path: string | undefined,
  response: ServerResponse,
  { metrics, readiness, log }: OperationsOptions,
): Promise<void> {
  if (path === '/metrics') {
    response.setHeader('Content-Type', metrics.registry.contentType)
    response.end(await exposition(metrics))
  } else if (path === '/healthz') {
    answer(response, 200, { status: 'ok' })
  } else if (path === '/readyz') {
    const { isReady, missing } = await checkReadiness(readiness, log)
    const details = Object.keys(missing).length > 0 && { missing }
    answer(response, isReady ? 200 : 503, { status: isReady ? 'ready' : 'unavailable', ...details })
  } else {
    answer(response, 404, { status: 'not_found' })
  }
}

function answer(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' })
  response.end(JSON.stringify(body))
}
