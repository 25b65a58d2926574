import { expect, test } from 'vitest'
import { batchesOf } from './batches.ts'
import { startScriptedServer } from './scripted-server.fixture.ts'
import { Sluice } from './sluice.ts'

test('a client without an address or a token says so before its first request', () => {
  const options: { api: string; token: string } = JSON.parse('{"token":"t"}')
  expect(() => new Sluice(options)).toThrow('api is missing')
  expect(() => new Sluice({ api: 'http://localhost', token: '' })).toThrow('token is missing')
})

test('a misspelt option of an import is refused: the API would ignore it', async () => {
  const client = new Sluice({ api: 'http://localhost', token: 't' })
  const misspelt: object = { dryrun: true }
  await expect(client.import(new Blob(['user_id\n']), misspelt)).rejects.toThrow('there is no option dryrun')
})

test('an iteration over imports reads a page when it needs it, with the filters and the cursor', async () => {
  const page = (ids: string[], next: string | null) => ({
    status: 200,
    body: { imports: ids.map((import_id) => ({ import_id })), next_cursor: next },
  })
  await using server = await startScriptedServer(() => [page(['c', 'b'], 'next page'), page(['a'], null)])
  const imports = new Sluice({ api: server.url, token: 't' }).imports({ state: 'failed' })
  expect((await imports.next()).value).toMatchObject({ import_id: 'c' })
  expect((await imports.next()).value).toMatchObject({ import_id: 'b' })
  expect(server.received).toHaveLength(1)
  expect((await imports.next()).value).toMatchObject({ import_id: 'a' })
  expect((await imports.next()).done).toBe(true)
  const queries = server.received.map(({ path }) => Object.fromEntries(new URL(path, server.url).searchParams))
  expect(queries).toEqual([
    { limit: '100', state: 'failed' },
    { limit: '100', state: 'failed', cursor: 'next page' },
  ])
})

test('batches hold all values in their order, and none is empty', async () => {
  const batches = (count: number) => Array.fromAsync(batchesOf(Array(count).keys(), 2))
  expect(await batches(0)).toEqual([])
  expect(await batches(2)).toEqual([[0, 1]])
  expect(await batches(3)).toEqual([[0, 1], [2]])
})
