import { type Database, followsPosition, formatPosition, microsecondsOf, parsePosition, sql } from '@sluice/database'
import type { AuditAction } from './actions.ts'
import { type Actor, type Outcome, wholeService } from './entries.ts'

/** An entry as pages and the command line show it. */
export interface AuditView {
  at: string
  /** Null if the entry concerns the whole service. */
  app_id: number | null
  who: string
  who_type: Actor['type']
  what: AuditAction
  target: string | null
  outcome: Outcome
  address: string | null
  request_id: string | null
}

/** Which entries to list. Each filter that is set narrows the list, and has an index. */
export interface AuditLogFilter {
  /** Only the entries of this app; all entries if it is missing. */
  appId?: number | undefined
  /** Only what this actor did: the `who` of entries. */
  who?: string | undefined
  what?: AuditAction | undefined
  /** Earliest and latest time; the latest is excluded. */
  since?: Date | undefined
  until?: Date | undefined
  /** Only entries before this position, which an earlier page returned. */
  before?: string | undefined
}

export interface AuditLogPage {
  /** Newest first. */
  entries: AuditView[]
  /** The position of the next page; undefined if there is none. */
  next: string | undefined
}

type Row = Omit<AuditView, 'app_id' | 'at'> & { app_id: number; at: Date; at_us: string; entry_id: number }

/** Lists at most `limit` entries, newest first. Reads only these entries, by index. An invalid position lists none. */
export async function auditLogPage(db: Database, filter: AuditLogFilter, limit: number): Promise<AuditLogPage> {
  const before = filter.before === undefined ? undefined : parsePosition(filter.before)
  if (filter.before !== undefined && before === undefined) return { entries: [], next: undefined }
  const conditions = [
    ...(filter.appId === undefined ? [] : [sql`app_id = ${filter.appId}`]),
    ...(filter.who === undefined ? [] : [sql`who = ${filter.who}`]),
    ...(filter.what === undefined ? [] : [sql`what = ${filter.what}`]),
    ...(filter.since === undefined ? [] : [sql`at >= ${filter.since}`]),
    ...(filter.until === undefined ? [] : [sql`at < ${filter.until}`]),
    ...(before === undefined ? [] : [followsPosition(sql`at`, sql`entry_id`, before)]),
  ]
  const where = conditions.length === 0 ? sql`` : sql`where ${sql.join(conditions, sql` and `)}`
  const { rows } = await sql<Row>`
    select app_id, at, ${microsecondsOf(sql`at`)} as at_us, entry_id, who_type, who, what, target, outcome, address, request_id
    from audit_log ${where} order by at desc, entry_id desc limit ${limit + 1}
  `.execute(db)
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const hasMore = rows.length > limit && last !== undefined
  const next = hasMore ? formatPosition({ atUs: last.at_us, number: last.entry_id }) : undefined
  return { entries: shown.map(toView), next }
}

/** A pause of an app's imports, or of all imports if `appId` is undefined. */
interface Pause {
  appId: number | undefined
  since: Date
}

/** How long before a pause its entry may begin. The entry precedes its action, which takes far less. */
const longestPausing = sql`interval '1 minute'`

/** Returns the pauses with who made them: the `who` of the entry, or undefined if the log has none. */
export async function withPausers<Known extends Pause>(
  db: Database,
  pauses: readonly Known[],
): Promise<(Known & { by: string | undefined })[]> {
  const apps = pauses.map(({ appId }) => appId ?? wholeService)
  const times = pauses.map(({ since }) => since.toISOString())
  // A `Date` has whole milliseconds, so the entry may seem to be later.
  const { rows } = await sql<{ who: string | null }>`
    select entry.who from unnest(${apps}::integer[], ${times}::timestamptz[]) with ordinality pause (app_id, since, place)
    left join lateral (
      select who from audit_log a
      where a.app_id = pause.app_id and a.at > pause.since - ${longestPausing}
        and a.at < pause.since + interval '1 millisecond'
        and a.what in ('app.pause', 'service.pause') and a.outcome in ('started', 'done')
      order by a.at desc, a.entry_id desc limit 1
    ) entry on true order by place
  `.execute(db)
  return pauses.map((pause, index) => ({ ...pause, by: rows[index]?.who ?? undefined }))
}

/** Returns who approved or cancelled an import, and when. */
export async function decisionsOn(
  db: Database,
  appId: number,
  importId: string,
): Promise<{ what: AuditAction; who: string; at: Date }[]> {
  const { rows } = await sql<{ what: AuditAction; who: string; at: Date }>`
    select what, case who_type when 'token' then 'API token ' else '' end || who as who, at from audit_log
    where app_id = ${appId} and target = ${importId} and what in ('import.approve', 'import.cancel') and outcome = 'done'
    order by at, entry_id
  `.execute(db)
  return rows
}

/** Number of entries that one query reads. */
const pageSize = 500

/** Yields all entries, newest first, page by page. */
export async function* auditLogPages(db: Database, filter: AuditLogFilter): AsyncGenerator<AuditView[]> {
  let before = filter.before
  do {
    const page = await auditLogPage(db, { ...filter, before }, pageSize)
    if (page.entries.length > 0) yield page.entries
    before = page.next
  } while (before !== undefined)
}

function toView(row: Row): AuditView {
  return {
    at: row.at.toISOString(),
    app_id: row.app_id === wholeService ? null : row.app_id,
    who: row.who,
    who_type: row.who_type,
    what: row.what,
    target: row.target,
    outcome: row.outcome,
    address: row.address,
    request_id: row.request_id,
  }
}
