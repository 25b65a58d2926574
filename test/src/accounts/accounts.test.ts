import { authenticator, createApp, InvalidAccount, registerToken, UnknownApp } from '@sluice/accounts'
import fc from 'fast-check'
import { beforeAll, expect, test, vi } from 'vitest'
import { lockWaits, openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'

const database = openBeforeAll(openTestDatabase)
let authenticate: (token: string) => Promise<number | undefined>
beforeAll(async () => {
  const find = authenticator(database.db)
  authenticate = async (token) => (await find(token))?.appId
})

const newApp = () => createApp(database.db, { name: 'Shop', email: 'ann@example.com' })

// design.md §4, Isolation.
test('a token belongs to its app alone', async () => {
  const [first, second] = [await newApp(), await newApp()]
  expect(await authenticate(first.apiToken)).toBe(first.appId)
  expect(await authenticate(second.apiToken)).toBe(second.appId)
  const swapped = first.apiToken.replace(`slc_${first.appId}_`, `slc_${second.appId}_`)
  expect(await authenticate(swapped)).toBeUndefined()
})

// service.md, Authentication 2.
test('a new token makes the old one unusable at once', async () => {
  const { appId, apiToken } = await newApp()
  const replaced = await registerToken(database.db, appId)
  expect(await authenticate(apiToken)).toBeUndefined()
  expect(await authenticate(replaced)).toBe(appId)
})

test('lookups at the same moment share a query, and each gets its own answer', async () => {
  const apps = await Promise.all(Array.from({ length: 5 }, newApp))
  const replaced = await registerToken(database.db, apps[0]?.appId ?? 0)
  const tokens = [replaced, ...apps.map(({ apiToken }) => apiToken), 'nonsense']
  const expected = [apps[0]?.appId, undefined, ...apps.slice(1).map(({ appId }) => appId), undefined]
  const found = await Promise.all([...tokens, ...tokens].map((token) => authenticate(token)))
  expect(found).toEqual([...expected, ...expected])
})

test('under a stream of lookups, a replaced token is refused from the moment that the new one exists', async () => {
  const { appId, apiToken } = await newApp()
  let isReplaced = false
  const clients = Array.from({ length: 20 }, async () => {
    for (let request = 0; request < 50; request++) {
      const mustBeRefused = isReplaced
      const found = await authenticate(apiToken)
      if (mustBeRefused) expect(found).toBeUndefined()
    }
  })
  const replaced = await registerToken(database.db, appId)
  isReplaced = true
  expect(await authenticate(replaced)).toBe(appId)
  await Promise.all(clients)
})

// design.md §4, Isolation.
test('neither the token nor anything that it could be computed from is stored', async () => {
  const { appId, apiToken } = await newApp()
  const row = await database.db
    .selectFrom('api_tokens')
    .selectAll()
    .where('app_id', '=', appId)
    .executeTakeFirstOrThrow()
  const secret = apiToken.split('_').slice(2).join('_')
  expect(JSON.stringify(row)).not.toContain(secret.slice(0, 20))
  expect(row.last_four).toBe(apiToken.slice(-4))
})

test('any text that was never issued as a token is refused, without an error', async () => {
  const { appId } = await newApp()
  const almost = fc.tuple(fc.constantFrom(appId, 0, 99_999, '1e3'), fc.base64String({ minLength: 40, maxLength: 44 }))
  const token = fc.oneof(
    fc.string({ unit: 'binary' }),
    almost.map(([id, secret]) => `slc_${id}_${secret}`),
  )
  await fc.assert(
    fc.asyncProperty(token, async (text) => {
      expect(await authenticate(text)).toBeUndefined()
    }),
  )
})

test.each([
  ['', 'ann@example.com'],
  ['Shop', 'ann'],
  ['Shop', 'ann@example.com\r\nBcc: everybody@example.com'],
  ['Shop', 'Ann <ann@example.com>'],
  ['Shop', 'a@b, c@d'],
])('an app %j with the address %j is refused', async (name, email) => {
  await expect(createApp(database.db, { name, email })).rejects.toThrow(InvalidAccount)
})

test('an app that does not exist, or whose deletion begins meanwhile, gets no token', async () => {
  await expect(registerToken(database.db, 99_999)).rejects.toThrow(UnknownApp)
  const { appId, apiToken } = await newApp()
  const deletion = await database.db.startTransaction().execute()
  await deletion.updateTable('apps').set({ deleting_at: new Date() }).where('app_id', '=', appId).execute()
  await deletion.deleteFrom('api_tokens').where('app_id', '=', appId).execute()
  const registration = expect(registerToken(database.db, appId)).rejects.toThrow(UnknownApp)
  await vi.waitFor(async () => expect(await lockWaits(database.db)).not.toEqual([]), 10_000)
  await deletion.commit().execute()
  await registration
  expect(await authenticate(apiToken)).toBeUndefined()
})
