import { type Html, html } from '@sluice/html'
import { type ImportDetails, isCancellable } from '@sluice/imports'
import { changesPart } from './changes-part.ts'
import { afterDryRunPart } from './dry-run-pages.ts'
import { heldPart } from './held-pages.ts'
import { progressPart } from './progress-part.ts'
import { reportPart } from './report-part.ts'
import { isRetryable, mayPass } from './retry-pages.ts'
import type { Snapshot } from './snapshot.ts'
import { isUndoable } from './undo-pages.ts'

/** The parts of an import's page that change while the page is open. They are the same for every visitor. */
export interface Parts {
  progress: Html
  actions: Html
  report: Html
}

export const partNames = ['progress', 'actions', 'report'] as const satisfies readonly (keyof Parts)[]

/** Renders all parts from one snapshot. */
export function partsOf(appId: number, snapshot: Snapshot): Parts {
  return {
    progress: html`${progressPart(appId, snapshot)}${heldPart(snapshot.details)}`,
    actions: actionsOf(appId, snapshot.details),
    report: html`${changesPart(snapshot)}${reportPart(appId, snapshot)}${afterDryRunPart(appId, snapshot.details)}`,
  }
}

/** Renders what a person can do next: approve or cancel the import, retry it, or import a corrected file. */
function actionsOf(appId: number, details: ImportDetails): Html {
  const { view } = details
  const address = `/apps/${appId}/imports/${view.import_id}`
  if (isCancellable(view.state)) {
    return html`<p class="actions">
      ${view.state === 'held' && html`<a class="button main" href="${address}/approve">Approve…</a>`}
      <a class="button danger" href="${address}/cancel">Cancel the import…</a>
    </p>`
  }
  const canRetry = isRetryable(details)
  const isFaulty = view.state === 'failed' && !(canRetry && mayPass(view.error ?? ''))
  const hasErrors = isFaulty || (view.state === 'completed' && view.rows_failed > 0)
  // The dry run of an undo leads to the undo.
  const undone = view.undo_of !== undefined && view.dry_run && view.state === 'completed' ? view.undo_of : undefined
  const toUndo = undone ?? (isUndoable(view) ? view.import_id : undefined)
  if (!hasErrors && !canRetry && toUndo === undefined) return html``
  return html`<p class="actions">
    ${hasErrors && html`<a class="button${isFaulty && ' main'}" href="/apps/${appId}/data-import">Import a corrected file…</a>`}
    ${canRetry && html`<a class="button${!isFaulty && ' main'}" href="${address}/retry">Retry the import…</a>`}
    ${toUndo !== undefined && html`<a class="button" href="/apps/${appId}/imports/${toUndo}/undo">Undo…</a>`}
  </p>`
}
