import { type Html, html } from '@sluice/html'
import { type ImportDetails, isCancellable } from '@sluice/imports'
import { changesPart } from './changes-part.ts'
import { isImportable } from './dry-run-pages.ts'
import { heldPart } from './held-pages.ts'
import { importLink } from './labels.ts'
import { progressPart } from './progress-part.ts'
import { columnsPart, errorsPart } from './report-part.ts'
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
    report: html`${errorsPart(appId, snapshot)}${changesPart(snapshot)}${columnsPart(snapshot.details)}`,
  }
}

/** Renders what a person can do next: import what a dry run checked, approve or cancel an import, retry or undo it. */
function actionsOf(appId: number, details: ImportDetails): Html {
  const { view, importedAs } = details
  const ofApp = `/apps/${appId}/imports`
  const address = `${ofApp}/${view.import_id}`
  if (importedAs !== null) return html`<p>The file is imported as ${importLink(appId, importedAs)}.</p>`
  if (isCancellable(view.state)) {
    return html`<p class="actions">
      ${view.state === 'held' && html`<a class="button main" href="${address}/approve">Approve…</a>`}
      <a class="button danger" href="${address}/cancel">Cancel the import…</a>
    </p>`
  }
  const canRetry = isRetryable(details)
  const isFaulty = view.state === 'failed' && !(canRetry && mayPass(view.error ?? ''))
  const hasErrors = view.undo_of === undefined && (isFaulty || (view.state === 'completed' && view.rows_failed > 0))
  // The dry run of an undo leads to the undo.
  const undone = view.dry_run && view.state === 'completed' ? view.undo_of : undefined
  const toUndo = undone ?? (details.undoneBy === null && isUndoable(view) ? view.import_id : undefined)
  const canImport = isImportable(details)
  if (!canImport && !hasErrors && !canRetry && toUndo === undefined) return html``
  return html`<p class="actions">
    ${canImport && html`<a class="button main" href="${address}/import">Import this file now…</a>`}
    ${hasErrors && html`<a class="button${isFaulty && ' main'}" href="/apps/${appId}/data-import">Import a corrected file…</a>`}
    ${canRetry && html`<a class="button${view.state === 'failed' && !isFaulty && ' main'}" href="${address}/retry">Retry the import…</a>`}
    ${toUndo !== undefined && html`<a class="button" href="${ofApp}/${toUndo}/undo">Undo…</a>`}
  </p>`
}
