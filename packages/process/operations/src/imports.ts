import { type ImportState, unfinishedImportStates } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'

/** An import that waits or is held. */
export interface Waiting {
  appId: number
  appName: string
  importId: string
  /** When the import's file was queued or its app resumed, or when the import was held. */
  since: Date
}

export interface Failure {
  appId: number
  appName: string
  importId: string
  error: string
  failedAt: Date
}

export interface ImportOverview {
  /** Imports that have not ended, by state. */
  active: Partial<Record<ImportState, number>>
  /** Imports that ended within the last 24 hours, by state. */
  ended: Partial<Record<ImportState, number>>
  /**
   * The import whose file has waited longest to be next in order, without pauses, paused apps and imports after a held
   * one.
   */
  oldestWaiting: Waiting | undefined
  /** The import that has been held for the longest time. */
  oldestHeld: Waiting | undefined
  /** The newest failures of the last 24 hours, at most ten. */
  failures: Failure[]
  /** Since when all apps are paused. */
  allPausedSince: Date | undefined
  /** Apps that are paused individually, the newest pauses first. */
  pausedApps: PausedApp[]
}

export interface PausedApp {
  appId: number
  appName: string
  since: Date
}

const shownFailures = 10

/**
 * Returns an overview of the imports of all apps. Its cost grows with the active and recently ended imports, not with
 * the history.
 */
export async function importOverview(db: Database): Promise<ImportOverview> {
  const [active, ended, oldestWaiting, oldestHeld, failures, allPausedSince, pausedApps] = await Promise.all([
    countActive(db, undefined),
    countEnded(db),
    findOldest(db, sql`greatest(queued_at, resumed_at)`, waits),
    findOldest(db, sql`held_at`, sql`state = 'held'`),
    findFailures(db),
    findPauseOfAll(db),
    findPausedApps(db),
  ])
  return { active, ended, oldestWaiting, oldestHeld, failures, allPausedSince, pausedApps }
}

/** Counts the imports that have not ended, by state: of an app, or of all apps if `appId` is undefined. */
export async function countActive(db: Database, appId: number | undefined): Promise<ImportOverview['active']> {
  const ofApp = appId === undefined ? sql`` : sql`app_id = ${appId} and`
  const { rows } = await sql<{ state: ImportState; imports: number }>`
    select state, count(*) as imports from imports
    where ${ofApp} state in (${sql.join(unfinishedImportStates.map((state) => sql.lit(state)))}) group by state
  `.execute(db)
  return byState(rows)
}

async function countEnded(db: Database): Promise<ImportOverview['ended']> {
  const { rows } = await sql<{ state: ImportState; imports: number }>`
    select state, count(*) as imports from imports where finished_at > now() - interval '24 hours' group by state
  `.execute(db)
  return byState(rows)
}

function byState(rows: readonly { state: ImportState; imports: number }[]): Partial<Record<ImportState, number>> {
  return Object.fromEntries(rows.map(({ state, imports }) => [state, imports]))
}

const waits = sql`state = 'queued' and queued_at is not null and (app_id, dry_run) in (select * from waiting_orders)`

type Sql = ReturnType<typeof sql>

async function findOldest(db: Database, since: Sql, condition: Sql): Promise<Waiting | undefined> {
  const { rows } = await sql<{ app_id: number; name: string; import_id: string; since: Date }>`
    select imports.app_id, apps.name, import_id, ${since} as since from imports join apps using (app_id)
    where ${condition} order by ${since} limit 1
  `.execute(db)
  const [row] = rows
  return row && { appId: row.app_id, appName: row.name, importId: row.import_id, since: row.since }
}

async function findFailures(db: Database): Promise<Failure[]> {
  const { rows } = await sql<{
    app_id: number
    name: string
    import_id: string
    error: string | null
    finished_at: Date
  }>`
    select imports.app_id, apps.name, import_id, error, finished_at from imports join apps using (app_id)
    where state = 'failed' and finished_at > now() - interval '24 hours'
    order by finished_at desc limit ${shownFailures}
  `.execute(db)
  return rows.map((row) => ({
    appId: row.app_id,
    appName: row.name,
    importId: row.import_id,
    error: row.error ?? '',
    failedAt: row.finished_at,
  }))
}

async function findPauseOfAll(db: Database): Promise<Date | undefined> {
  const pause = await db.selectFrom('service_pause').select('paused_at').executeTakeFirst()
  return pause?.paused_at
}

async function findPausedApps(db: Database): Promise<PausedApp[]> {
  const { rows } = await sql<{ app_id: number; name: string; paused_at: Date }>`
    select app_id, name, paused_at from apps where paused_at is not null order by paused_at desc
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, appName: row.name, since: row.paused_at }))
}
