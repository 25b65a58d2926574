import type { ImportState, WebhookEvent } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { enqueueEvent, isEventChosen } from '@sluice/webhooks'
import type { ImportId } from '../context.ts'
import { selectImports, toView } from '../view/view.ts'

/** States in which an import ends or is held. Each has a webhook event, for example `import.completed`. */
type EndState = Extract<ImportState, 'completed' | 'failed' | 'cancelled' | 'expired' | 'held'>

/**
 * Records the webhook deliveries about the end of an import, in the transaction `tx` of its end. An import may be held
 * again after another check, which is another event. `occurrence` tells them apart
 * (second-day.md §5, Event bodies). The data are the import view without the links to its files, and without the
 * examples of warnings, which are values of users.
 */
export async function enqueueImportEvent(
  tx: Database,
  { appId, importId }: ImportId,
  state: EndState,
  occurrence = importId,
): Promise<void> {
  // changes.md §2, Held.
  const type: WebhookEvent = `import.${state}`
  if (!(await isEventChosen(tx, appId, type))) return
  const row = await selectImports(tx)
    .where('app_id', '=', appId)
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
  // changes.md §1, Elsewhere.
  const { error_file_url: _, changes_file_url: __, ...view } = toView(row, undefined)
  const data = { ...view, warnings: view.warnings.map((warning) => ({ ...warning, examples: [] })) }
  const timestamp = view.finished_at ?? new Date().toISOString()
  await enqueueEvent(tx, appId, { type, id: occurrence, timestamp, data, hasFileName: view.file_name !== null })
}
