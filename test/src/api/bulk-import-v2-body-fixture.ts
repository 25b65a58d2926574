import { once } from 'node:events'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect } from 'vitest'
import { until } from '../environment/wait.ts'
import { type App, everything, openApp, openTestApi, type TestApi } from './test-api.ts'

const path = '/v2/user_profiles/bulk_import'

/** Largest body of a v2 bulk import, bytes. */
export const limit = 100 * 2 ** 20

/** The answer to a body over {@link limit}. */
export const tooLarge = { status: 413, body: `{"error":{"messages":["The request body is over ${limit} bytes."]}}` }

/** A megabyte of rows. */
export const rows = Buffer.alloc(2 ** 20, 'somebody,1\n')

/** An API that listens, and requests of v2 bulk imports over real connections. */
export interface BodyFixture {
  api: TestApi
  /** Opens a request and sends its headers. The caller sends the body. */
  open(
    app: App,
    headers?: Record<string, string | number>,
  ): { request: ClientRequest; answered: Promise<{ status: number | undefined; body: string }> }
  /** Opens a connection on which the test writes HTTP itself. */
  connectRaw(): Socket
  /** Returns the app's imports in request order. */
  importsOf(app: App): Promise<{ import_id: string; state: string }[]>
  /** Waits until the app's request has created an import, which then has a sequence number. */
  untilBegun(app: App): Promise<unknown>
  close(): Promise<void>
}

/** Opens an API whose clients may pause for 30 s while they send a file. */
export async function openBodyFixture(): Promise<BodyFixture> {
  const api = await openTestApi({ UPLOAD_ORDER_WAIT: '30s' })
  const url = await api.api.listen({ host: '127.0.0.1', port: 0 })
  const importsOf = ({ appId }: App) =>
    api.database.db
      .selectFrom('imports')
      .select(['import_id', 'state'])
      .where('app_id', '=', appId)
      .orderBy('sequence_number')
      .execute()
  return {
    api,
    open(app, headers = {}) {
      const request = httpRequest(`${url}${path}`, { method: 'POST', headers: { ...headersOf(app), ...headers } })
      const answered = once(request, 'response').then(async ([response]: IncomingMessage[]) => ({
        status: response?.statusCode,
        body: response === undefined ? '' : await text(response),
      }))
      answered.catch(() => {}) // a broken request has no answer
      request.on('error', () => {})
      return { request, answered }
    },
    connectRaw() {
      const { hostname, port } = new URL(url)
      return connect(Number(port), hostname)
    },
    importsOf,
    untilBegun: (app) => until('the import', async () => (await importsOf(app)).length > 0),
    close: () => api.close(),
  }
}

const headersOf = ({ token }: App) => ({ 'X-Service-Token': token, 'Content-Type': 'text/csv' })

/** Returns the head of a request with another header, as the bytes of HTTP. */
export function headOf(app: App, header: string): string {
  const headers = Object.entries({ Host: 'test', ...headersOf(app) }).map(([name, value]) => `${name}: ${value}`)
  return [`POST ${path} HTTP/1.1`, ...headers, header, '\r\n'].join('\r\n')
}

/** Expects that a body that breaks off after some megabytes leaves nothing. */
export async function expectNothingLeft(
  { api, open, importsOf, untilBegun }: BodyFixture,
  headers: Record<string, string | number>,
  megabytes: number,
): Promise<void> {
  const app = await openApp(api)
  const before = await everything(api)
  const { request } = open(app, headers)
  request.write('user_id,n\n')
  for (let sent = 0; sent < megabytes; sent++) request.write(rows)
  await untilBegun(app)
  request.destroy()
  await until('the end of the import', async () => (await importsOf(app)).length === 0)
  expect(await everything(api)).toEqual(before)
}
