import { type Database, sql } from '@sluice/database'

/** The tables that grow with the users of all apps (docs/operations.md, When one Postgres is full). */
export const partitionedTables = ['users', 'profiles', 'deletion_request_users'] as const

/** How many parts each table gets. */
const parts = 16

/** Replaces the empty large tables by tables that are partitioned by a hash of the app, and makes their view anew. */
export async function partitionByApp(db: Database): Promise<void> {
  const { rows } = await sql<{ view: string }>`select pg_get_viewdef('campaign_targets') as view`.execute(db)
  await sql`drop view campaign_targets`.execute(db)
  for (const table of partitionedTables) {
    const [whole, name] = [sql.table(`${table}_whole`), sql.table(table)]
    await sql`alter table ${name} rename to ${whole}`.execute(db)
    await sql`create table ${name} (like ${whole} including all) partition by hash (app_id)`.execute(db)
    await sql`drop table ${whole}`.execute(db)
    for (let part = 0; part < parts; part++) {
      const values = sql.raw(`modulus ${parts}, remainder ${part}`)
      const partName = sql.table(`${table}_part_${part}`)
      await sql`create table ${partName} partition of ${name} for values with (${values})`.execute(db)
    }
  }
  await sql`create view campaign_targets as ${sql.raw(rows[0]?.view ?? '')}`.execute(db)
}
