import { type Database, sql } from '@sluice/database'
import { UnknownApp } from './app.ts'
import type { ImportDefaults } from './import-defaults.ts'

/** An app as `sluice apps list` prints it. */
export interface AppSummary {
  app_id: number
  name: string
  created_at: string
  /** The imports of the app are paused. */
  paused: boolean
  /** The deletion of the app has begun. */
  deleting: boolean
}

/** An app as `sluice apps show` prints it. */
export interface AppView extends AppSummary, ImportDefaults {
  paused_at: string | null
  token_last_four: string | null
  members: { email: string; gets_mails: boolean }[]
  users: number
  profile_keys: number
  /** Imports by state. */
  imports: Record<string, number>
  /** Limits of the app itself; null where the settings apply. */
  limits: { bulk_import: string | null; profile_keys: number | null }
}

interface SummaryRow {
  app_id: number
  name: string
  created_at: Date
  paused_at: Date | null
  deleting_at: Date | null
}

/** Lists all apps by ID. */
export async function listAppSummaries(db: Database): Promise<AppSummary[]> {
  const { rows } = await sql<SummaryRow>`
    select app_id, name, created_at, paused_at, deleting_at from apps order by app_id
  `.execute(db)
  return rows.map(toSummary)
}

/** Returns an app with its figures. Counts the app's users and imports. Throws {@link UnknownApp}. */
export async function showApp(db: Database, appId: number): Promise<AppView> {
  const { rows } = await sql<
    SummaryRow &
      Omit<AppView, keyof AppSummary | 'limits' | 'paused_at'> & {
        bulk_import_limit: string | null
        profile_key_limit: number | null
      }
  >`
    select app_id, name, created_at, paused_at, deleting_at, bulk_import_limit, profile_key_limit, new_keys, keep_changes, hold_if,
      (select last_four from api_tokens where app_id = ${appId}) as token_last_four,
      coalesce((
        select json_agg(json_build_object('email', email, 'gets_mails', gets_mails) order by email)
        from members where app_id = ${appId}
      ), '[]') as members,
      (select count(*) from users where app_id = ${appId}) as users,
      (select count(*) from profile_keys where app_id = ${appId}) as profile_keys,
      coalesce((
        select json_object_agg(state, number order by state)
        from (select state, count(*) as number from imports where app_id = ${appId} group by state) states
      ), '{}') as imports
    from apps where app_id = ${appId}
  `.execute(db)
  const [row] = rows
  if (row === undefined) throw new UnknownApp(appId)
  return {
    ...toSummary(row),
    paused_at: row.paused_at?.toISOString() ?? null,
    token_last_four: row.token_last_four,
    members: row.members,
    users: row.users,
    profile_keys: row.profile_keys,
    imports: row.imports,
    new_keys: row.new_keys,
    keep_changes: row.keep_changes,
    hold_if: row.hold_if,
    limits: { bulk_import: row.bulk_import_limit, profile_keys: row.profile_key_limit },
  }
}

function toSummary(row: SummaryRow): AppSummary {
  return {
    app_id: row.app_id,
    name: row.name,
    created_at: row.created_at.toISOString(),
    paused: row.paused_at !== null,
    deleting: row.deleting_at !== null,
  }
}
