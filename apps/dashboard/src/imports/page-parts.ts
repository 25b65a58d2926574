import { type Html, html } from '@sluice/html'
import { type ImportDetails, isCancellable } from '@sluice/imports'
import { changesPart } from './changes-part.ts'
import { afterDryRunPart } from './dry-run-pages.ts'
import { progressPart } from './progress-part.ts'
import { reportPart } from './report-part.ts'
import { isRetryable } from './retry-pages.ts'
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
    progress: progressPart(appId, snapshot),
    actions: html`${actionsOf(appId, snapshot.details).map((link) => html`<p class="actions">${link}</p>`)}`,
    report: html`${changesPart(snapshot)}${reportPart(appId, snapshot)}${afterDryRunPart(appId, snapshot.details)}`,
  }
}

/** Renders what a person can do next: cancel the import, retry it, or import a corrected file. */
function actionsOf(appId: number, details: ImportDetails): Html[] {
  const { view } = details
  const address = `/apps/${appId}/imports/${view.import_id}`
  if (isCancellable(view.state)) {
    return [html`<a class="button danger" href="${address}/cancel">Cancel the import…</a>`]
  }
  if (isRetryable(details)) return [html`<a class="button main" href="${address}/retry">Retry the import…</a>`]
  if (view.undo_of !== undefined && view.dry_run && view.state === 'completed')
    return [html`<a class="button" href="/apps/${appId}/imports/${view.undo_of}/undo">Undo the import…</a>`]
  const undo = isUndoable(view) ? [html`<a class="button" href="${address}/undo">Undo…</a>`] : []
  const hasErrors = view.state === 'failed' || (view.state === 'completed' && view.rows_failed > 0)
  const correct = html`<a class="button" href="/apps/${appId}/data-import">Import a corrected file…</a>`
  return [...(hasErrors ? [correct] : []), ...undo]
}
