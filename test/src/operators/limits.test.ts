import { createApp, setAppLimits } from '@sluice/accounts'
import { buildApi } from '@sluice/api-app/src/api.ts'
import { openApiMetrics } from '@sluice/api-app/src/metrics.ts'
import { openApiRateLimiter, readRates } from '@sluice/api-app/src/rate-limiting.ts'
import { readSettings } from '@sluice/config'
import { deletionRequestSettings } from '@sluice/deletions'
import { importSettings, receiveSettings } from '@sluice/imports'
import { KeyLimitExceeded, keyRegistry, registerKeys, registerUsers } from '@sluice/profiles'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { openTestStorage } from '../environment/storage.ts'
import { importFile, openApp, openImportFixture } from '../imports/import-fixture.ts'
import { sluice } from './command-line.ts'

// Limits of one app (docs/operations.md, Apps).
const redis = inject('redisUrl')
const stores: [string, string | undefined][] = [
  ['Postgres', undefined],
  ...(redis === undefined ? [] : [['Redis', redis] as [string, string]]),
]

// second-day.md §6, Limits.
describe.each(stores)('the rate of first requests, counted in %s', (_, redisUrl) => {
  let database: TestDatabase
  const closing: (() => Promise<unknown>)[] = []
  let send: (token: string) => Promise<{ status: number; limit: number; remaining: number }>
  beforeAll(async () => {
    database = await openTestDatabase()
    const storage = openTestStorage()
    const log = pino({ level: 'silent' })
    const metrics = openApiMetrics()
    const names = [...deletionRequestSettings, ...importSettings, ...receiveSettings]
    const settings = readSettings({ API_URL: 'http://api.test' }, names)
    const rates = readRates({ RATE_LIMIT_TIMEOUT: '5s' })
    const store = redisUrl === undefined ? { databaseUrl: database.url } : { redisUrl }
    // Two processes of the API share the counts.
    const limiters = [
      await openApiRateLimiter(store, rates, { metrics, log }),
      await openApiRateLimiter(store, rates, { metrics, log }),
    ]
    const apis = limiters.map((rateLimiter) =>
      buildApi({ db: database.db, storage, settings, log, apiUrl: settings.API_URL }, { rateLimiter }),
    )
    let request = 0
    send = async (token) => {
      const answer = await apis[request++ % 2]?.inject({
        method: 'POST',
        url: '/v3/user_profiles/bulk_import',
        headers: { 'x-service-token': token },
        payload: { checksum: 'XrY7u+Ae7tCTyyK7j1rNww==', byte_size: '12' },
      })
      const headers = answer?.headers ?? {}
      return {
        status: answer?.statusCode ?? 0,
        limit: Number(headers['x-ratelimit-limit']),
        remaining: Number(headers['x-ratelimit-remaining']),
      }
    }
    closing.push(...apis.map((api) => () => api.close()), ...limiters.map((limiter) => () => limiter.close()))
    closing.push(
      async () => storage.close(),
      () => database.close(),
    )
  })
  afterAll(async () => {
    for (const close of closing) await close()
  })

  test('a limit of the app takes effect with the next request in every process, and other apps keep the setting', async () => {
    const app = await createApp(database.db, { name: 'Shop', email: 'anna@example.com' })
    const other = await createApp(database.db, { name: 'Other', email: 'anna@example.com' })
    for (let request = 0; request < 10; request++) expect((await send(app.apiToken)).status).toBe(200)
    expect(await send(app.apiToken)).toMatchObject({ status: 429 })
    await setAppLimits(database.db, app.appId, { bulkImport: '100/10m' })
    expect(await send(app.apiToken)).toEqual({ status: 200, limit: 100, remaining: 88 })
    expect(await send(app.apiToken)).toEqual({ status: 200, limit: 100, remaining: 87 })
    expect(await send(other.apiToken)).toMatchObject({ limit: 10, remaining: 9 })
    await setAppLimits(database.db, app.appId, { bulkImport: '3/1h' })
    // A limit with another length of the window begins a new window at once.
    expect(await send(app.apiToken)).toEqual({ status: 200, limit: 3, remaining: 2 })
    await setAppLimits(database.db, app.appId, { bulkImport: null })
    expect((await send(app.apiToken)).status).toBe(429)
  })
})

test('a limit of profile keys holds for imports, dry runs and updates', async () => {
  const fixture = await openImportFixture({ PROFILE_KEY_LIMIT: '3' })
  const { db } = fixture.database
  const [appId, otherId] = [await openApp(fixture, ['alice']), await openApp(fixture, ['alice'])]
  await registerUsers(db, appId, ['alice'])
  const file = 'user_id,a,b,c,d\nalice,1,2,3,4\n'
  for (const dryRun of [true, false]) {
    await setAppLimits(db, appId, { profileKeys: 3 })
    expect((await importFile(fixture, appId, file, { dryRun })).view).toMatchObject({
      state: 'failed',
      error: expect.stringContaining('(3)'),
    })
    await setAppLimits(db, appId, { profileKeys: 4 })
    expect((await importFile(fixture, appId, file, { dryRun })).view.state).toBe('completed')
  }
  expect((await importFile(fixture, otherId, file)).view.state).toBe('failed')
  const register = () => db.transaction().execute((tx) => registerKeys(tx, appId, new Map([['e', 'int']]), 3))
  await expect(register()).rejects.toThrow(KeyLimitExceeded)
  await setAppLimits(db, appId, { profileKeys: 5 })
  await register()
  expect(await keyRegistry(db, appId, 3)).toMatchObject({ limit: 5 })
  expect((await keyRegistry(db, appId, 3)).enabled).toBe(5)
  await fixture.close()
})

test('the command line shows and sets limits, and `default` makes the setting apply', async () => {
  const database = await openTestDatabase()
  const { appId } = await createApp(database.db, { name: 'Shop', email: 'anna@example.com' })
  const limits = async (...args: string[]) => await sluice(database, ['app', 'limits', '--app', String(appId), ...args])
  const set = await limits('--bulk-import', '100/10m', '--profile-keys', '2000')
  expect(set.json).toEqual({ app_id: appId, bulk_import: '100/10m', profile_keys: 2000 })
  expect((await limits('--bulk-import', 'default')).json).toEqual({
    app_id: appId,
    bulk_import: null,
    profile_keys: 2000,
  })
  expect((await limits()).json).toMatchObject({ profile_keys: 2000 })
  for (const bad of [
    ['--bulk-import', '0/10m'],
    ['--bulk-import', 'many'],
    ['--profile-keys', '0'],
    ['--profile-keys', '100001'],
  ])
    expect((await limits(...bad)).code).toBe(2)
  expect((await sluice(database, ['app', 'limits', '--app', '999', '--profile-keys', '5'])).code).toBe(1)
  await database.close()
})
