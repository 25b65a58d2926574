import type { Readable } from 'node:stream'
import { copyOut, endStaleCopies, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { until } from '../environment/wait.ts'

test('if the reader of a copy stops, its snapshot ends with the time limit of exports', async () => {
  const database = await openTestDatabase()
  onTestFinished(() => database.close())
  const process = new AbortController()
  // More than the buffers of the network hold.
  const statement = `copy (select repeat('x', 1000) from generate_series(1, 50000)) to stdout`
  const consume = () => new Promise<void>((_, end) => process.signal.addEventListener('abort', () => end(new Error())))
  const copy = copyOut({ statement, consume, signal: process.signal })
  const copying = database.db.connection().execute(async (connection) => {
    await sql`begin`.execute(connection)
    await connection.executeQuery(copy)
  })
  const given = copying.catch((error: Error) => error)
  const waiting = async () => {
    const { rows } = await sql<{ snapshots: number }>`
      select count(*) as snapshots from pg_stat_activity
      where datname = current_database() and wait_event = 'ClientWrite'
    `.execute(database.db)
    return rows[0]?.snapshots
  }
  await until('a copy that waits for its reader', async () => (await waiting()) === 1)
  expect(await endStaleCopies(database.db, 3_600_000)).toBe(0)
  await until('the end of the copy', async () => (await endStaleCopies(database.db, 1)) === 1)
  await until('the end of the snapshot', async () => (await waiting()) === 0)
  process.abort()
  expect(await given).toBeInstanceOf(Error)
})

test('a copy whose signal aborts ends with the reason of the signal', async () => {
  const database = await openTestDatabase()
  onTestFinished(() => database.close())
  const process = new AbortController()
  const statement = `copy (select repeat('x', 1000) from generate_series(1, 50000)) to stdout`
  const reason = new DOMException('the process shuts down', 'AbortError')
  const consume = async (bytes: Readable) => {
    for await (const _ of bytes) process.abort(reason)
  }
  const copy = copyOut({ statement, consume, signal: process.signal })
  const copying = database.db.connection().execute(async (connection) => {
    await sql`begin`.execute(connection)
    await connection.executeQuery(copy)
  })
  await expect(copying).rejects.toBe(reason)
})
