import { sql } from '@sluice/database'
import { openRateLimiter, type RateLimit, type RateLimitStore, removeEndedWindows } from '@sluice/rate-limits'
import { afterEach, expect, inject, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { describeStores } from './describe-stores.ts'
import { openLink } from './interrupted-link.ts'

const limits = {
  update: { requests: 5, windowMs: 60_000 },
  import: { requests: 2, windowMs: 60_000 },
  short: { requests: 1, windowMs: 1_000 },
  wide: { requests: 100_000, windowMs: 60_000 },
} satisfies Record<string, RateLimit>

const database = openBeforeAll(openTestDatabase)

const open: { close(): Promise<unknown> }[] = []
afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()))
})

/** Opens a limiter that waits `deadline` ms for each count: by default longer than a busy machine needs. */
async function openLimiter(store: RateLimitStore, deadline = 10_000) {
  const failures: unknown[] = []
  const limiter = await openRateLimiter(store, limits, {
    deadlineMs: deadline,
    onFailure: (error) => failures.push(error),
  })
  open.push(limiter)
  return { ...limiter, failures }
}

/** Returns an unused app ID: Redis is shared with other tests. */
const newApp = () => Math.floor(Math.random() * 2 ** 30)

/**
 * Expects that the store was called three times at most, and once more in each second since `begun`. All other failures
 * must be requests that did not try to reach the store, and so waited for nothing.
 */
function expectFewTries(failures: readonly unknown[], begun: number): void {
  const tries = failures.filter((error) => !(error instanceof Error && error.message.startsWith('not tried')))
  expect(tries.length).toBeGreaterThanOrEqual(3)
  expect(tries.length).toBeLessThanOrEqual(3 + (performance.now() - begun) / 1_000)
}

describeStores('rate limits', (name) => {
  const store = () => (name === 'Redis' ? { redisUrl: inject('redisUrl') ?? '' } : { databaseUrl: database.url })

  // design.md §3, Rate limits.
  test('two processes share their counts, and allow exactly the limit', async () => {
    const processes = [await openLimiter(store()), await openLimiter(store())]
    const app = newApp()
    const counts = await Promise.all(
      processes.flatMap(({ count }) => Array.from({ length: 6 }, () => count(app, 'update'))),
    )
    expect(counts.filter((count) => count.allowed)).toHaveLength(5)
    expect(counts.map((count) => count.remaining).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
    expect(new Set(counts.map((count) => count.limit))).toEqual(new Set([5]))
  })

  test('requests of many apps at the same moment, in two processes, are counted exactly', async () => {
    const processes = [await openLimiter(store()), await openLimiter(store())]
    const apps = Array.from({ length: 50 }, newApp)
    const rounds = await Promise.all(
      Array.from({ length: 12 }, (_, round) => {
        const order = round % 2 === 0 ? apps : apps.toReversed()
        return Promise.all(order.map(async (app) => ({ app, count: await processes[round % 2]?.count(app, 'update') })))
      }),
    )
    for (const app of apps) {
      const counts = rounds.flat().flatMap((one) => (one.app === app ? [one.count] : []))
      expect(counts.filter((count) => count?.allowed)).toHaveLength(5)
      expect(counts.map((count) => count?.remaining).sort()).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4])
    }
  })

  test('what is left of a limit can be read in another process without counting a request', async () => {
    const [one, other] = [await openLimiter(store()), await openLimiter(store())]
    const app = newApp()
    expect(await other.peek(app, 'update')).toEqual({ allowed: true, limit: 5, remaining: 5, resetAfterMs: 60_000 })
    for (let request = 0; request < 2; request++) await one.count(app, 'update')
    for (let request = 0; request < 2; request++) {
      const left = await other.peek(app, 'update')
      expect(left).toMatchObject({ allowed: true, limit: 5, remaining: 3 })
      expect(left.resetAfterMs).toBeGreaterThan(50_000)
    }
    expect(await one.count(app, 'update')).toMatchObject({ remaining: 2 })
  })

  test('a count takes one round trip to the store', async () => {
    const target = store()
    const link = await openLink('redisUrl' in target ? target.redisUrl : target.databaseUrl)
    open.push(link)
    const { count } = await openLimiter('redisUrl' in target ? { redisUrl: link.url } : { databaseUrl: link.url })
    const app = newApp()
    // The first count also sends the store its script or statement.
    await count(app, 'wide')
    const before = link.roundTrips()
    for (let request = 0; request < 100; request++) await count(app, 'wide')
    expect(link.roundTrips() - before).toBe(100)
  })

  // service.md, Rate rules.
  test('subjects, such as tokens, and functions are counted separately', async () => {
    const { count } = await openLimiter(store())
    const [one, other] = [newApp(), newApp()]
    const allowed = []
    for (let request = 0; request < 3; request++) allowed.push((await count(one, 'import'))?.allowed)
    allowed.push((await count(other, 'import'))?.allowed, (await count(one, 'update'))?.allowed)
    expect(allowed).toEqual([true, true, false, true, true])
  })

  test('a window is fixed: refused requests do not extend it, and the next window starts at zero', async () => {
    const { count } = await openLimiter(store())
    const app = newApp()
    const begun = performance.now()
    const first = await count(app, 'short')
    expect(first).toMatchObject({ allowed: true, limit: 1, remaining: 0 })
    expect(first.resetAfterMs).toBeGreaterThan(900)
    const refusals: number[] = []
    await until('the next window', async () => {
      const next = await count(app, 'short')
      if (next.allowed === false) refusals.push(next.resetAfterMs)
      return next.allowed
    })
    expect(performance.now() - begun).toBeGreaterThan(900)
    expect(refusals.length).toBeGreaterThan(0)
    expect(refusals).toEqual(refusals.toSorted((a, b) => b - a))
  })

  test('a store that hangs delays three requests, then one in a second; its counts are used again after it recovers', async () => {
    const target = store()
    const link = await openLink('redisUrl' in target ? target.redisUrl : target.databaseUrl)
    open.push(link)
    const { count, failures } = await openLimiter(
      'redisUrl' in target ? { redisUrl: link.url } : { databaseUrl: link.url },
      100,
    )
    const app = newApp()
    expect(await count(app, 'wide')).toMatchObject({ allowed: true })

    link.hang()
    const begun = performance.now()
    for (let request = 0; request < 100; request++) {
      expect(await count(app, 'wide')).toMatchObject({ allowed: true, remaining: 99_998 - request })
    }
    expect(failures).toHaveLength(100)
    expectFewTries(failures, begun)

    await link.restore()
    await until('a count', async () => {
      const before = failures.length
      await count(app, 'wide')
      return failures.length === before
    })
  })

  test('without its store, a process starts, and hardly any request tries to reach the store', async () => {
    const target = store()
    const link = await openLink('redisUrl' in target ? target.redisUrl : target.databaseUrl)
    open.push(link)
    await link.cut()
    const begun = performance.now()
    const { count, failures } = await openLimiter(
      'redisUrl' in target ? { redisUrl: link.url } : { databaseUrl: link.url },
      100,
    )
    for (let request = 0; request < 100; request++) {
      expect((await count(1, 'update')).allowed).toBe(request < 5)
    }
    expect(failures).toHaveLength(100)
    expectFewTries(failures, begun)
    await link.restore()
    await until('a count', async () => {
      const before = failures.length
      await count(newApp(), 'wide')
      return failures.length === before
    })
  })

  test('a store that fails in the middle of a window lets no request beyond the limit through', async () => {
    const target = store()
    const link = await openLink('redisUrl' in target ? target.redisUrl : target.databaseUrl)
    open.push(link)
    const { count } = await openLimiter('redisUrl' in target ? { redisUrl: link.url } : { databaseUrl: link.url }, 100)
    const app = newApp()
    const allowed: boolean[] = []
    for (let request = 0; request < 30; request++) {
      if (request === 3) link.hang()
      if (request === 15) await link.restore()
      allowed.push((await count(app, 'update')).allowed)
    }
    expect(allowed.filter(Boolean).length).toBeLessThanOrEqual(5)
    expect(allowed.slice(0, 3)).toEqual([true, true, true])
  })

  test('a busy process lets no request beyond the limit through', async () => {
    const { count } = await openLimiter(store(), 50)
    const app = newApp()
    const allowed: boolean[] = []
    for (let round = 0; round < 3; round++) {
      const counts = Array.from({ length: 10 }, () => count(app, 'update'))
      const until = performance.now() + 200
      while (performance.now() < until);
      for (const each of await Promise.all(counts)) allowed.push(each.allowed)
    }
    expect(allowed.filter(Boolean)).toHaveLength(5)
  })
})

test('a window in Postgres whose end lies too far ahead, because the clock was set back, is over', async () => {
  const { count } = await openLimiter({ databaseUrl: database.url })
  const app = newApp()
  for (let requests = 0; requests < 6; requests++) await count(app, 'update')
  expect(await count(app, 'update')).toMatchObject({ allowed: false })
  await sql`update rate_limits set expire = expire + 86400000`.execute(database.db)
  expect(await count(app, 'update')).toMatchObject({ allowed: true, remaining: 4 })
})

test('Postgres keeps one row per app and function, in an unlogged table', async () => {
  const { count } = await openLimiter({ databaseUrl: database.url })
  for (let request = 0; request < 20; request++) await count(7, 'update')
  const { rows } = await sql`select r.key, r.points, c.relpersistence
    from rate_limits r, pg_class c where c.oid = 'rate_limits'::regclass and r.key like '7:%'`.execute(database.db)
  expect(rows).toEqual([{ key: '7:update', points: 20, relpersistence: 'u' }])
})

test('windows that ended a day ago are removed, and all others stay', async () => {
  const { count } = await openLimiter({ databaseUrl: database.url })
  await count('replaced', 'update')
  await count('present', 'update')
  await sql`update rate_limits set expire = expire - 86400000 - 60000 where key = 'replaced:update'`.execute(
    database.db,
  )
  await removeEndedWindows(database.db)
  const { rows } = await sql<{ key: string }>`
    select key from rate_limits where key in ('replaced:update', 'present:update')
  `.execute(database.db)
  expect(rows).toEqual([{ key: 'present:update' }])
  expect((await count('present', 'update')).remaining).toBe(3)
})
