import { cellOf } from '@sluice/accounts'
import { type Database, sql } from '@sluice/database'
import type { Move } from './move.ts'

/** The slot of the move, and those by which Postgres copies two tables at a time. */
const slotsNeeded = 3

interface Abilities {
  version: string
  migrations: string
  wal_level: string
  slots_left: number
  may_publish: boolean
  may_subscribe: boolean
  /** The greatest ID that an app of this database has had. */
  last_app_id: string
}

/** Returns what a move lacks, a sentence for each; nothing if it can begin. `isNew`: no copy exists in the target. */
export async function unmetRequirements({ appId, source, target }: Move, isNew: boolean): Promise<string[]> {
  const [from, to] = [await abilitiesOf(source.db), await abilitiesOf(target.db)]
  const copied = isNew && (await hasRows(target.db, appId))
  const checks: readonly [isMissing: boolean, text: string][] = [
    [source.cell === target.cell, `app ${appId} is in cell ${target.cell} already`],
    [
      cellOf(Number(to.last_app_id)) !== target.cell,
      `the database of cell ${target.cell} belongs to cell ${cellOf(Number(to.last_app_id))}`,
    ],
    [from.migrations !== to.migrations, 'the databases have different schemas: run sluice migrate on both'],
    [from.version !== to.version, 'the databases are of different major versions of Postgres, whose hashes may differ'],
    [from.wal_level !== 'logical', `cell ${source.cell}: set wal_level = logical in Postgres, and restart it`],
    [
      isNew && from.slots_left < slotsNeeded,
      `cell ${source.cell}: raise max_replication_slots and max_wal_senders in Postgres: a move takes ${slotsNeeded}`,
    ],
    [!from.may_publish, `cell ${source.cell}: the role must own the tables and have REPLICATION`],
    [!to.may_subscribe, `cell ${target.cell}: the role must own the tables and be a member of pg_create_subscription`],
    [copied, `cell ${target.cell} has rows of app ${appId}: confirm its move from there first`],
  ]
  return checks.flatMap(([isMissing, text]) => (isMissing ? [text] : []))
}

async function abilitiesOf(db: Database): Promise<Abilities> {
  const { rows } = await sql<Abilities>`
    select current_setting('server_version_num')::integer / 10000 || '' as version,
      (select string_agg(name, ' ' order by name) from kysely_migration) as migrations,
      current_setting('wal_level') as wal_level,
      current_setting('max_replication_slots')::integer - (select count(*) from pg_replication_slots)::integer as slots_left,
      (rolsuper or rolreplication) and owns as may_publish,
      (rolsuper or pg_has_role('pg_create_subscription', 'member')) and owns as may_subscribe,
      (select last_value::text from apps_app_id_seq) as last_app_id
    from pg_roles, lateral (
      select pg_has_role(relowner, 'usage') as owns from pg_class where oid = 'apps'::regclass
    ) as tables where rolname = current_user
  `.execute(db)
  const [abilities] = rows
  if (abilities === undefined) throw new Error('the role of the connection does not exist')
  return abilities
}

async function hasRows(db: Database, appId: number): Promise<boolean> {
  const { rows } =
    await sql`select from apps where app_id = ${appId} union all (select from users where app_id = ${appId} limit 1)`.execute(
      db,
    )
  return rows.length > 0
}
