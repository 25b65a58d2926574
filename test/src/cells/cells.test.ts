import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { assignCell, cellOf, OtherCell } from '@sluice/accounts'
import { auditLogPage } from '@sluice/audit-log'
import { sql } from '@sluice/database'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { type App, openApp, openTestApi, send, type TestApi } from '../api/test-api.ts'
import { sendRaw } from '../api-limits/raw-connection.ts'
import { openTestDatabase } from '../environment/database.ts'

describe('a database of a cell', () => {
  test('creates apps with the IDs of its cell, whose number each ID names', async () => {
    const { db, close } = await openTestDatabase()
    onTestFinished(close)
    await assignCell(db, 7)
    await assignCell(db, 7)
    await expect(assignCell(db, 0)).rejects.toThrow('the database belongs to cell 7')
    const create = async () =>
      (await db.insertInto('apps').values({ name: 'App' }).returning('app_id').executeTakeFirstOrThrow()).app_id
    expect(await create()).toBe(7_000_001)
    await assignCell(db, 7)
    expect(await create()).toBe(7_000_002)
    await sql`alter table apps alter column app_id restart with 8000000`.execute(db)
    expect(cellOf(await create())).toBe(7)
    await expect(create()).rejects.toThrow('maximum value')
  })

  test('stays in its cell', async () => {
    const { db, close } = await openTestDatabase()
    onTestFinished(close)
    await assignCell(db, 0)
    await db.insertInto('apps').values({ name: 'App' }).execute()
    await assignCell(db, 0)
    await expect(assignCell(db, 1)).rejects.toThrow(new OtherCell('the database belongs to cell 0, and CELL is 1'))
  })
})

describe('of two cells, the API of one', () => {
  let other: TestApi
  let api: TestApi
  let app: App

  beforeEach(async () => {
    other = await openTestApi({ CELL: '1', API_TRUSTED_PROXIES: 'loopback' })
    await assignCell(other.database.db, 1)
    const address = await other.api.listen({ port: 0 })
    api = await openTestApi({ CELL: '0', CELLS: `0=http://127.0.0.1:1,1=${address}` })
    app = await openApp(other, ['ann'])
    expect(app.appId).toBe(1_000_001)
    return async () => {
      await api.close()
      await other.close()
    }
  })

  test('answers its own apps, and forwards the requests of the other’s apps with their answers', async () => {
    const own = await openApp(api, ['bob'])
    expect(own.appId).toBe(1)
    const registered = { user_ids: ['carl'] }
    expect((await send(api, own, '/v1/users', registered)).status).toBe(202)
    expect((await send(api, app, '/v1/users', registered)).status).toBe(202)
    const users = async ({ database }: TestApi) =>
      (await database.db.selectFrom('users').select('user_id').orderBy('user_id').execute()).map((row) => row.user_id)
    expect(await users(api)).toEqual(['bob', 'carl'])
    expect(await users(other)).toEqual(['ann', 'carl'])
    const forwarded = await send(api, app, '/v1/users/ann', undefined, { method: 'GET' })
    const direct = await send(other, app, '/v1/users/ann', undefined, { method: 'GET' })
    expect(forwarded.body).toEqual(direct.body)
    expect(Object.keys(forwarded.headers).toSorted()).toEqual(expect.arrayContaining(Object.keys(direct.headers)))
    const missing = await send(api, app, '/v1/users/nobody', undefined, { method: 'GET' })
    expect(missing.status).toBe(404)
  })

  test('names the client’s address to the other, which the client cannot choose', async () => {
    const headers = { 'x-service-token': app.token, 'x-forwarded-for': '192.0.2.9' }
    const sent = { method: 'POST', url: '/v1/exports', payload: {}, headers, remoteAddress: '203.0.113.7' } as const
    expect((await api.api.inject(sent)).statusCode).toBe(202)
    const [entry] = (await auditLogPage(other.database.db, {}, 1)).entries
    expect(entry).toMatchObject({ what: 'export.request', address: '203.0.113.7' })
  })

  test('passes bodies on whole, with a length and in chunks', async () => {
    const file = Buffer.from(`user_id,color\n${Array.from({ length: 200_000 }, () => 'ann,red\n').join('')}`)
    const address = await api.api.listen({ port: 0 })
    const url = `${address}/v2/user_profiles/bulk_import`
    const headers = { 'X-Service-Token': app.token, 'Content-Type': 'text/csv' }
    for (const body of [file, ReadableStream.from([file.subarray(0, 1000), file.subarray(1000)])]) {
      const response = await fetch(url, { method: 'POST', headers, body, duplex: 'half' })
      expect([response.status, await response.text()]).toEqual([202, expect.any(String)])
    }
    const rows = await other.database.db.selectFrom('imports').select('import_id').execute()
    expect(rows).toHaveLength(2)
  })

  test('asks a client that waits for 100 Continue for the body only if the other cell accepts the request', async () => {
    const address = await api.api.listen({ port: 0 })
    const statusesOf = async (token: string) => {
      const headers = { 'X-Service-Token': token, 'Content-Type': 'application/json', Expect: '100-continue' }
      const sent = request(`${address}/v1/users`, { method: 'POST', headers: { ...headers, 'Content-Length': 18 } })
      const statuses: number[] = []
      sent.on('continue', () => {
        statuses.push(100)
        sent.end('{"user_ids":["u"]}')
      })
      sent.flushHeaders()
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      sent.destroy()
      return [...statuses, answer.statusCode]
    }
    expect(await statusesOf(`${app.token.slice(0, -1)}${app.token.endsWith('A') ? 'B' : 'A'}`)).toEqual([403])
    expect(await statusesOf(app.token)).toEqual([100, 202])
  })

  test('passes a refusal on whole, and no byte of the refused body: the other’s reset could overtake its answer', async () => {
    const address = await api.api.listen({ port: 0 })
    const sockets: Socket[] = []
    other.api.server.on('connection', (socket: Socket) => sockets.push(socket))
    const wrong = `${app.token.slice(0, -1)}${app.token.endsWith('A') ? 'B' : 'A'}`
    const headers = { 'X-Service-Token': wrong, 'Content-Type': 'text/csv' }
    for (let round = 0; round < 5; round++) {
      const body = Buffer.alloc(8_000_000)
      expect((await fetch(`${address}/v2/user_profiles/bulk_import`, { method: 'POST', headers, body })).status).toBe(
        403,
      )
    }
    expect(sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0)).toBeLessThan(10_000)
  })

  test('passes a target with another host on as it came: both cells answer it alike', async () => {
    const target = 'GET http://elsewhere.test:1/v1/profile_keys HTTP/1.1'
    const headers = ['Host: cells.test', `X-Service-Token: ${app.token}`, 'Connection: close']
    const lines = `${[target, ...headers].join('\r\n')}\r\n\r\n`
    const statusAt = async (server: TestApi) => {
      const { port } = server.api.server.address() as AddressInfo
      return (await sendRaw(`http://127.0.0.1:${port}`, [lines])).status
    }
    await api.api.listen({ port: 0 })
    const status = await statusAt(other)
    expect(status).toBeLessThan(500)
    expect(await statusAt(api)).toBe(status)
  })

  test('forwards tokens that are not valid too, and the other refuses them', async () => {
    const wrong = { ...app, token: `${app.token.slice(0, -1)}${app.token.endsWith('A') ? 'B' : 'A'}` }
    const unknownCell = { ...app, token: app.token.replace('slc_1000001_', 'slc_5000001_') }
    for (const each of [wrong, unknownCell])
      expect((await send(api, each, '/v1/users', { user_ids: ['x'] })).status).toBe(403)
  })

  test('answers its own apps while the other cell is down, and 500 for the other’s', async () => {
    const own = await openApp(api, [])
    await other.api.close()
    expect((await send(api, app, '/v1/users', { user_ids: ['x'] })).status).toBe(500)
    expect((await send(api, own, '/v1/users', { user_ids: ['x'] })).status).toBe(202)
  })

  test('never forwards a request twice: cells that disagree do not loop', async () => {
    const first = await openTestApi({ CELL: '0' })
    const address = await first.api.listen({ port: 0 })
    // This API believes that it is cell 5, and that the other one has cell 1.
    const confused = await openTestApi({ CELL: '5', CELLS: `1=${address}` })
    onTestFinished(async () => {
      await confused.close()
      await first.close()
    })
    expect((await send(confused, app, '/v1/users', { user_ids: ['x'] })).status).toBe(403)
  })
})
