import { setTimeout as delay } from 'node:timers/promises'
import { type Database, sql } from '@sluice/database'
import { type Move, MoveRefused, movedTables, nameOf } from './move.ts'
import { endSlowCopy, slowCopy } from './pace.ts'

/** The pause between two looks at the replication, ms. */
const lookEveryMs = 50

/** The database of a connection. Slots and subscriptions of all databases of a server stand in one table. */
const ownDatabase = sql`(select oid from pg_database where datname = current_database())`

/** The slot of a move, as seen in the source. Databases of one server may have apps with the same ID. */
const slotName = (move: Move) => sql`${nameOf(move)}::text || '_' || ${ownDatabase}`
const slot = (move: Move) => sql`pg_replication_slots where slot_name = ${slotName(move)}`

/** The subscription of a move, as seen in the target. */
const subscription = (move: Move) => sql`pg_subscription where subname = ${nameOf(move)} and subdbid = ${ownDatabase}`

/**
 * Errors of a subscription that a command tolerates. Postgres tries again after each, some seconds later: a connection
 * that broke succeeds then, and a row that cannot be applied fails each time.
 */
const toleratedErrors = 2

/** How much of the first copy is done. */
export interface Copied {
  tables: number
  tablesDone: number
}

/**
 * Lets the target copy the app's rows and follow what changes: a publication whose filters name the app, a slot that
 * keeps the changes, and a subscription. Does nothing for the parts that exist.
 */
export async function startReplication(move: Move): Promise<void> {
  const { appId, source, target } = move
  const name = nameOf(move)
  if (!(await exists(source.db, sql`pg_publication where pubname = ${name}`))) {
    const tables = movedTables.map((table) => sql`${sql.table(table)} where (app_id = ${sql.lit(appId)})`)
    await sql`create publication ${sql.id(name)} for table ${sql.join(tables)}`.execute(source.db)
  }
  if (await isSubscribed(move)) return
  // A slot without its subscription is of a command that died between the two.
  await dropSlot(move)
  const { rows } = await sql<{ name: string }>`
    select slot_name::text as name from pg_create_logical_replication_slot(${slotName(move)}, 'pgoutput')
  `.execute(source.db)
  await slowCopy(move)
  await sql`
    create subscription ${sql.id(name)} connection ${sql.lit(source.url)} publication ${sql.id(name)}
    with (create_slot = false, slot_name = ${sql.lit(rows[0]?.name ?? '')})
  `.execute(target.db)
}

/** Whether the target follows the source. */
async function isSubscribed(move: Move): Promise<boolean> {
  return await exists(move.target.db, subscription(move))
}

/** Waits until the first copy of each table is complete. Throws {@link MoveRefused} if the target cannot apply it. */
export async function untilCopied(move: Move, onProgress: (copied: Copied) => void): Promise<void> {
  const refuseFailing = watchFailures(move)
  for (;;) {
    await refuseFailing()
    const { rows } = await sql<Copied>`
      select count(*) as tables, count(*) filter (where r.srsubstate in ('s', 'r')) as "tablesDone"
      from pg_subscription_rel r where srsubid = (select oid from ${subscription(move)})
    `.execute(move.target.db)
    const copied = rows[0] ?? { tables: 0, tablesDone: 0 }
    onProgress(copied)
    if (copied.tables > 0 && copied.tablesDone === copied.tables) break
    await delay(lookEveryMs * 10)
  }
  await endSlowCopy(move)
}

/** Waits until the target has applied everything that is committed in the source now. */
export async function untilCaughtUp(move: Move, signal?: AbortSignal): Promise<void> {
  const { db } = move.source
  const { rows } = await sql<{ now: string }>`select pg_current_wal_lsn()::text as now`.execute(db)
  const now = rows[0]?.now ?? ''
  const isThere = () => exists(db, sql`${slot(move)} and confirmed_flush_lsn >= ${now}::pg_lsn`)
  const refuseFailing = watchFailures(move)
  while (!(await isThere())) {
    await refuseFailing()
    await delay(lookEveryMs, undefined, { signal })
  }
}

/** Ends the replication, and removes its parts in both databases. Succeeds if there are none. */
export async function endReplication(move: Move): Promise<void> {
  const name = sql.id(nameOf(move))
  if (await isSubscribed(move)) {
    // Without its slot, the subscription can also be dropped while the source is down.
    await sql`alter subscription ${name} disable`.execute(move.target.db)
    await sql`alter subscription ${name} set (slot_name = none)`.execute(move.target.db)
    await sql`drop subscription ${name}`.execute(move.target.db)
  }
  await sql`drop publication if exists ${name}`.execute(move.source.db)
  await dropSlot(move)
}

async function dropSlot(move: Move): Promise<void> {
  const { db } = move.source
  const isActive = () => exists(db, sql`${slot(move)} and active`)
  while (await isActive()) await delay(lookEveryMs)
  await sql`select pg_drop_replication_slot(slot_name) from ${slot(move)}`.execute(db)
}

/** Returns a function that throws if the replication cannot go on. Errors before its first call do not count. */
function watchFailures(move: Move): () => Promise<void> {
  const { source, target } = move
  let errorsBefore: number | undefined
  return async () => {
    if (await exists(source.db, sql`${slot(move)} and wal_status = 'lost'`))
      throw new MoveRefused(
        `cell ${source.cell} has dropped changes that were not copied: raise max_slot_wal_keep_size. Then --abort, and begin again`,
      )
    const { rows } = await sql<{ errors: number }>`
      select apply_error_count + sync_error_count as errors from pg_stat_subscription_stats
      where subid = (select oid from ${subscription(move)})
    `.execute(target.db)
    const errors = rows[0]?.errors ?? 0
    errorsBefore ??= errors
    if (errors - errorsBefore > toleratedErrors)
      throw new MoveRefused(
        `cell ${target.cell} cannot apply what cell ${source.cell} sends: its log says why. Then --abort, and begin again`,
      )
  }
}

async function exists(db: Database, from: ReturnType<typeof sql>): Promise<boolean> {
  const { rows } = await sql`select from ${from}`.execute(db)
  return rows.length > 0
}
