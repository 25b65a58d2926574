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

/** Which entries to list. */
export interface AuditLogFilter {
  /** Only the entries of this app; all entries if it is missing. */
  appId?: number | undefined
  since?: Date | undefined
  /** Only entries before this position, which an earlier page returned. */
  before?: string | undefined
}

/** A page of entries. */
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
    ...(filter.since === undefined ? [] : [sql`at >= ${filter.since}`]),
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
