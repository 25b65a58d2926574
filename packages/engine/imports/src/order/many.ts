import type { ImportState } from '@sluice/contract'
import { type Database, sql } from '@sluice/database'
import type { ImportId, RequestContext } from '../context.ts'
import { RetryRefused, retryImport, whyNotRetried } from '../intake/retry.ts'
import { TooManyWaiting } from '../intake/waiting-limit.ts'
import { cancelImports } from './cancel.ts'

// Many imports at once, for operators (changes.md §6).

/** Which imports: of one app or of all, from `since` to before `until`, or those with these IDs. */
export interface ManyFilter {
  states: readonly ImportState[]
  appId?: number | undefined
  since?: Date | undefined
  until?: Date | undefined
  importIds?: readonly string[] | undefined
}

/** What became of one of many imports, as the command line prints it. */
export interface OneOfMany {
  import_id: string
  /** The new import; null if there is none. */
  retry_id: string | null
  /** Why nothing was done; null if it was. */
  reason: string | null
}

/**
 * Returns the imports that ended within the filter's times, in request order for each app. Of an import and its
 * retries, only the last one counts.
 */
export async function findImportsToRetry(db: Database, filter: ManyFilter): Promise<ImportId[]> {
  const isLast = sql`not exists (select from imports r where r.app_id = i.app_id and r.retry_of = i.import_id)`
  return await find(db, filter, sql`i.finished_at`, isLast)
}

/** Returns the imports that were requested within the filter's times, in request order for each app. */
export async function findImportsToCancel(db: Database, filter: ManyFilter): Promise<ImportId[]> {
  return await find(db, filter, sql`i.requested_at`, sql`true`)
}

async function find(
  db: Database,
  { states, appId, since, until, importIds }: ManyFilter,
  time: ReturnType<typeof sql>,
  condition: ReturnType<typeof sql>,
): Promise<ImportId[]> {
  const { rows } = await sql<{ app_id: number; import_id: string }>`
    select i.app_id, i.import_id from imports i
    where i.state = any(${states}::text[]) and (${appId ?? null}::integer is null or i.app_id = ${appId ?? null})
      and ${time} >= coalesce(${since ?? null}::timestamptz, '-infinity')
      and ${time} < coalesce(${until ?? null}::timestamptz, 'infinity') and ${condition}
      and (${importIds ?? null}::uuid[] is null or i.import_id = any(${importIds ?? null}::uuid[]))
    order by i.app_id, i.sequence_number
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, importId: row.import_id }))
}

/** Retries imports one after the other, in their order. With `dryRun`, only says which could be retried. */
export async function retryImports(
  context: RequestContext,
  imports: readonly ImportId[],
  { dryRun = false, requestedBy }: { dryRun?: boolean; requestedBy?: string } = {},
): Promise<OneOfMany[]> {
  const results: OneOfMany[] = []
  for (const source of imports) {
    const result = { import_id: source.importId, retry_id: null, reason: null }
    if (dryRun) results.push({ ...result, reason: await whyNotRetried(context.db, source) })
    else results.push({ ...result, ...(await retryOne(context, source, requestedBy)) })
  }
  return results
}

async function retryOne(context: RequestContext, source: ImportId, requestedBy: string | undefined) {
  try {
    return { retry_id: await retryImport(context, source, requestedBy) }
  } catch (error) {
    if (error instanceof RetryRefused || error instanceof TooManyWaiting) return { reason: error.message }
    throw error
  }
}

/** Cancels imports at once. An import that has ended meanwhile is left alone. */
export async function cancelMany(db: Database, imports: readonly ImportId[]): Promise<OneOfMany[]> {
  const cancelled = new Set(await cancelImports(db, imports))
  return imports.map(({ importId }) => ({
    import_id: importId,
    retry_id: null,
    reason: cancelled.has(importId) ? null : 'it has ended already',
  }))
}
