import { type Database, prepared } from '@sluice/database'
import { isClaimable } from './claim.ts'
import type { ExportId } from './context.ts'

/** Maximum number of exports for which one run of maintenance enqueues jobs. */
const passSize = 100

/** Returns exports that a worker can claim now, longest wait first, each with the number of its latest attempt. */
export async function dueExports(db: Database): Promise<(ExportId & { attempt: number })[]> {
  const { rows } = await prepared<{ app_id: number; export_id: string; attempt: number }>`
    select app_id, export_id, attempt from exports e where state in ('queued', 'processing') and ${isClaimable}
    order by requested_at limit ${passSize}
  `.execute(db)
  return rows.map((row) => ({ appId: row.app_id, exportId: row.export_id, attempt: row.attempt }))
}
