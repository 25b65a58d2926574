import { setTimeout as delay } from 'node:timers/promises'
import { type Database, type RawBuilder, retryConflicts, sql } from '@sluice/database'

/** A table with rows of apps, and the column by which an app's rows are deleted in batches. */
interface AppTable {
  name: string
  /** The column that follows `app_id` in an index, with few rows for each of its values; undefined if there is none. */
  key?: { column: string; type: 'text' | 'uuid' | 'bytea' }
}

/**
 * All tables with rows of apps, in the order in which the rows are deleted: rows precede the rows they refer to, and
 * users precede their profiles, so that no update of a profile succeeds afterwards. A test compares the list with the
 * schema. `apps` itself comes last, and `audit_log` stays (second-day.md §6, Deleting an app).
 */
export const appTables: readonly AppTable[] = [
  { name: 'api_tokens' },
  { name: 'access_keys' },
  { name: 'members' },
  { name: 'invitations' },
  { name: 'invitation_mails' },
  { name: 'users', key: { column: 'user_id', type: 'text' } },
  { name: 'profiles', key: { column: 'user_id', type: 'text' } },
  { name: 'import_chunks', key: { column: 'import_id', type: 'uuid' } },
  { name: 'undo_lines', key: { column: 'import_id', type: 'uuid' } },
  { name: 'imports', key: { column: 'import_id', type: 'uuid' } },
  { name: 'import_slot_time' },
  { name: 'column_mappings' },
  { name: 'exports', key: { column: 'export_id', type: 'uuid' } },
  { name: 'idempotency_keys' },
  { name: 'bucket_upload_parts', key: { column: 'import_id', type: 'uuid' } },
  { name: 'bucket_uploads', key: { column: 'import_id', type: 'uuid' } },
  { name: 'unannounced_file_failures', key: { column: 'file_hash', type: 'bytea' } },
  { name: 'deletion_request_users', key: { column: 'user_id', type: 'text' } },
  { name: 'deleted_users', key: { column: 'request_id', type: 'uuid' } },
  { name: 'recently_deleted_users', key: { column: 'user_hash', type: 'bytea' } },
  { name: 'deletion_requests', key: { column: 'request_id', type: 'uuid' } },
  { name: 'mails', key: { column: 'mail_id', type: 'uuid' } },
  { name: 'mail_counts' },
  { name: 'webhook_deliveries', key: { column: 'delivery_id', type: 'uuid' } },
  { name: 'webhook_endpoints' },
  { name: 'profile_keys', key: { column: 'key', type: 'text' } },
  { name: 'file_sweeps', key: { column: 'import_id', type: 'uuid' } },
  { name: 'app_moves' },
]

/** Number of rows that one transaction deletes. It deletes more if more rows share a key. */
const batchRows = 5_000

/** After each batch, the process pauses for this many times as long as the batch took, to leave Postgres to others. */
const restPerBatch = 0.5

/** Deletes an app's rows of a table, batch by batch. Returns their number. Throws an AbortError on shutdown. */
export async function deleteRows(
  db: Database,
  { name, key }: AppTable,
  appId: number,
  shutdown: AbortSignal | undefined,
): Promise<number> {
  const table = sql.table(name)
  if (key === undefined) return await deleteInAnyOrder(db, table, appId, shutdown)
  const column = sql.ref(key.column)
  const typed = (value: string) => sql`${value}::${sql.raw(key.type)}`
  let deleted = 0
  let after: string | undefined
  for (;;) {
    shutdown?.throwIfAborted()
    const began = performance.now()
    // A lower bound, so that no batch walks over the dead index entries of preceding batches.
    const rest = sql`app_id = ${appId} ${after === undefined ? sql`` : sql`and ${column} > ${typed(after)}`}`
    const { rows } = await sql<{ key: string }>`
      select ${column}::text as key from ${table} where ${rest} order by ${column} limit 1 offset ${batchRows - 1}
    `.execute(db)
    const last = rows[0]?.key
    const upTo = last === undefined ? sql`` : sql`and ${column} <= ${typed(last)}`
    deleted += await retryConflicts(() => run(sql`delete from ${table} where ${rest} ${upTo}`, db))
    if (last === undefined) return deleted
    after = last
    await delay((performance.now() - began) * restPerBatch, undefined, { signal: shutdown })
  }
}

/** Deletes an app's rows of a table whose rows no single column divides into batches. */
async function deleteInAnyOrder(
  db: Database,
  table: RawBuilder<unknown>,
  appId: number,
  shutdown: AbortSignal | undefined,
): Promise<number> {
  const some = sql`array(select ctid from ${table} where app_id = ${appId} limit ${batchRows})`
  for (let deleted = 0; ; ) {
    shutdown?.throwIfAborted()
    const began = performance.now()
    const rows = await retryConflicts(() =>
      run(sql`delete from ${table} where app_id = ${appId} and ctid = any(${some})`, db),
    )
    if (rows === 0) return deleted
    deleted += rows
    await delay((performance.now() - began) * restPerBatch, undefined, { signal: shutdown })
  }
}

async function run(statement: ReturnType<typeof sql>, db: Database): Promise<number> {
  return Number((await statement.execute(db)).numAffectedRows ?? 0)
}
