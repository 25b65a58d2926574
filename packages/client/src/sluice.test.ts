import { expect, test } from 'vitest'
import { batchesOf } from './batches.ts'
import { startScriptedServer } from './scripted-server.fixture.ts'
import { Sluice } from './sluice.ts'

test('a client without an address or a token says so before its first request', () => {
  const options: { api: string; token: string } = JSON.parse('{"token":"t"}')
  expect(() => new Sluice(options)).toThrow('api is missing')
  expect(() => new Sluice({ api: 'http://localhost', token: '' })).toThrow('token is missing')
})

test('a misspelt option is refused before the first request: the API would do without it what it changes', async () => {
  const access = { api: 'http://localhost', token: 't' }
  const client = new Sluice(access)
  const misspelt: object = { dryrun: true }
  const refusal = 'there is no option dryrun'
  await expect(client.import(new Blob(['user_id\n']), misspelt)).rejects.toThrow(refusal)
  await expect(client.undoImport('id', misspelt)).rejects.toThrow(refusal)
  await expect(client.export(misspelt)).rejects.toThrow(refusal)
  expect(() => new Sluice({ ...access, ...misspelt })).toThrow(refusal)
})

test('one text instead of several user IDs is refused: its letters would be registered, or deleted', async () => {
  const client = new Sluice({ api: 'http://localhost', token: 't' })
  await expect(client.registerUsers('dave')).rejects.toThrow('not one text')
  await expect(client.deleteUsers('dave')).rejects.toThrow('not one text')
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
