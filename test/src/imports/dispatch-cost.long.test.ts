import { type CompiledQuery, type Database, sql } from '@sluice/database'
import { claimNext, dispatchNextInOrder } from '@sluice/imports'
import { expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { openApp, openImportFixture } from './import-fixture.ts'

// The cost of dispatch and claims depends on the number of apps, not on how many imports each app has queued.
const queued = 120_000
const apps = 3
/** Blocks of 8 KiB that a statement may touch. An index lookup touches about four; an app takes about ten lookups. */
const maxBlocks = apps * 100

const fixture = openBeforeEach(openImportFixture)

async function queue(appId: number, count: number): Promise<void> {
  await sql`
    insert into imports (app_id, source, state, object_key, content_type, queued_at)
    select ${appId}::integer, 'bucket', 'queued', 'none', 'text/csv', now() from generate_series(1, ${count}::integer)
  `.execute(fixture.database.db)
}

test.each([
  ['of now', async () => {}, async (db: Database) => void (await sql`vacuum (analyze) imports`.execute(db))],
  [
    'of an empty table',
    async (db: Database) => {
      await sql`alter table imports set (autovacuum_enabled = off)`.execute(db)
      // Rows that an earlier test deleted leave pages. Postgres would then expect no rows on any page, also on new
      // ones, and choose indexes at random, until autovacuum counts again.
      await sql`truncate imports cascade`.execute(db)
      await sql`vacuum (analyze) imports`.execute(db)
    },
    async () => {},
  ],
])(
  'dispatch and claims read only the first imports of each app, with the statistics %s',
  async (_, before, after) => {
    const { db } = fixture.database
    await before(db)
    await queue(await openApp(fixture), queued)
    for (let app = 1; app < apps; app++) await queue(await openApp(fixture), 1)
    await after(db)
    const blocks: [string, number][] = []
    const context = { ...fixture.context, db: explaining(db, blocks) }
    const dispatched = await dispatchNextInOrder(context)
    expect(dispatched).toHaveLength(apps)
    const claims = [await claimNext(context), await claimNext(context), await claimNext(context)]
    expect(claims.map((claim) => claim?.appId).toSorted()).toEqual(dispatched.map(({ appId }) => appId).toSorted())
    // All apps are busy: nothing is next, and finding that out costs no more.
    expect(await dispatchNextInOrder(context)).toEqual([])
    expect(await claimNext(context)).toBeUndefined()
    const { rows } = await sql`select runnable_imports() as runnable`.execute(context.db)
    expect(rows).toEqual([{ runnable: apps }])
    expect(blocks.length).toBeGreaterThan(8)
    expect(blocks.filter(([, touched]) => touched > maxBlocks)).toEqual([])
  },
  120_000,
)

/**
 * Wraps a database so that it explains each statement before running it, and notes the blocks that the statement
 * touches.
 */
function explaining(db: Database, blocks: [string, number][]): Database {
  const executeQuery = async (query: CompiledQuery) => {
    blocks.push([query.sql.trim().slice(0, 60), await blocksOf(db, query)])
    return await db.executeQuery(query)
  }
  const executor = new Proxy(db.getExecutor(), {
    get(target, name) {
      if (name === 'executeQuery') return executeQuery
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
  return new Proxy(db, {
    get(target, name) {
      if (name === 'getExecutor') return () => executor
      if (name === 'executeQuery') return executeQuery
      const member: unknown = Reflect.get(target, name, target)
      return typeof member === 'function' ? member.bind(target) : member
    },
  })
}

/** A row of the answer to `explain`. */
interface Explained {
  'QUERY PLAN': [{ Plan: Record<string, number> }]
}

/** Returns how many blocks a statement touches, in memory or on disk. Rolls the statement back. */
async function blocksOf(db: Database, query: CompiledQuery): Promise<number> {
  const explain = { ...query, name: undefined, sql: `explain (analyze, buffers, format json) ${query.sql}` }
  const tx = await db.startTransaction().execute()
  const { rows } = await tx.executeQuery<Explained>(explain)
  await tx.rollback().execute()
  const plan = rows[0]?.['QUERY PLAN'][0].Plan ?? {}
  return (plan['Shared Hit Blocks'] ?? 0) + (plan['Shared Read Blocks'] ?? 0)
}
