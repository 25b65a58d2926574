import { connect, encodeTextArray, hasOutsideCause, sql } from '@sluice/database'
import fc from 'fast-check'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { throughProxy } from '../faults/harness/servers.ts'
import { startTcpProxy } from '../faults/harness/tcp-proxy.ts'

const database = openBeforeAll(openTestDatabase)

test('a text array arrives as it was sent: strings, bytes, nulls, empty ones, none at all', async () => {
  const value = fc.oneof(
    fc.constant(null),
    fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
    fc.constantFrom('', '{', '"', '\\', 'NULL', 'ä😀', 'a,b', '\n'),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(value), fc.boolean(), async (values, asBytes) => {
      const sent = asBytes ? values.map((text) => (text === null ? null : Buffer.from(text))) : values
      const { rows } = await sql<{ values: (string | null)[] }>`
        select ${encodeTextArray(sent)}::text[] as values
      `.execute(database.db)
      expect(rows[0]?.values).toEqual(values)
    }),
  )
})

test('parameters of megabytes arrive as they were sent, among others of all kinds', async () => {
  const value = fc.oneof(
    fc.constant(null),
    fc.integer(),
    fc.string({ unit: 'grapheme' }).filter((text) => !text.includes('\0')),
    fc.integer({ min: 1, max: 3_000_000 }).map((size) => Buffer.alloc(size, `${size}`)),
  )
  await fc.assert(
    fc.asyncProperty(value, value, value, async (...values) => {
      const given = values.map((each) => (typeof each === 'number' ? Buffer.from(`${each}`) : each))
      const [first, second, third] = given
      const { rows } = await sql<Record<string, unknown>>`
        select ${first}::bytea as first, ${second}::bytea as second, length(${third}::bytea) as third
      `
        .execute(database.db)
        .catch(() => ({ rows: [] }))
      // Text is no bytea: Postgres says so, and the connection goes on.
      if (given.some((each) => typeof each === 'string')) return
      expect(rows[0]).toEqual({ first, second, third: Buffer.isBuffer(third) ? third.length : null })
    }),
    { numRuns: 20 },
  )
})

test('counts and offsets in bigint columns are numbers, times are dates', async () => {
  const { rows } = await sql`select 9007199254740991::bigint as count, now() as at`.execute(database.db)
  expect(rows[0]).toEqual({ count: Number.MAX_SAFE_INTEGER, at: expect.any(Date) })
})

test('a connection that breaks fails its query, never the process, and is replaced', async () => {
  const errors: Error[] = []
  const { db, close } = connect(database.url, { connections: 1, onError: (error) => errors.push(error) })
  await expect(sql`select pg_terminate_backend(pg_backend_pid())`.execute(db)).rejects.toThrow()
  await until('a new connection', () =>
    sql`select 1`.execute(db).then(
      () => true,
      () => false,
    ),
  )

  // In the middle of a transaction, with no query in flight.
  const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(db)
  const transaction = db.transaction().execute(async (tx) => {
    errors.length = 0
    await sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(database.db)
    await until('the news of it', () => errors.length > 0)
    await sql`select 1`.execute(tx)
  })
  await expect(transaction).rejects.toThrow()
  await until('a new connection', () =>
    sql`select 1`.execute(db).then(
      () => true,
      () => false,
    ),
  )
  await close()
})

test('a query that follows the end of its connection at once fails for a reason outside itself', async () => {
  const broken = Promise.withResolvers<void>()
  const { db, close } = connect(database.url, { connections: 1, onError: () => broken.resolve() })
  onTestFinished(close)
  const error = await db.connection().execute(async (connection) => {
    const { rows } = await sql<{ pid: number }>`select pg_backend_pid() as pid`.execute(connection)
    const terminated = sql`select pg_terminate_backend(${rows[0]?.pid})`.execute(database.db)
    // Postgres has said that it ends the connection, which is still open.
    await broken.promise
    const failure = await sql`select 1`.execute(connection).catch((error: unknown) => error)
    await terminated
    return failure
  })
  expect(error).toBeInstanceOf(Error)
  expect(hasOutsideCause(error), String(error)).toBe(true)
})

test('a connection that stops responding in the middle of a transaction is closed, and the pool continues with another', async () => {
  const { port } = new URL(database.url)
  const proxy = await startTcpProxy(() => Number(port))
  const { db, close } = connect(throughProxy(database.url, proxy), { connections: 1, queryTimeoutMs: 500 })
  onTestFinished(async () => {
    await close()
    await proxy.close()
  })
  const silenced = db.transaction().execute(async (tx) => {
    await sql`select 1`.execute(tx)
    proxy.set({ kind: 'stall' })
    await sql`select 2`.execute(tx)
  })
  await expect(silenced).rejects.toThrow()
  proxy.set({ kind: 'fine' })
  expect((await sql`select 3 as n`.execute(db)).rows).toEqual([{ n: 3 }])
})
