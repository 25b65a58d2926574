import { type Html, html } from '@sluice/html'
import { isCancellable } from '@sluice/imports'
import { afterDryRunPart } from './dry-run-pages.ts'
import { progressPart } from './progress-part.ts'
import { reportPart } from './report-part.ts'
import { isRetryable } from './retry-pages.ts'
import type { Snapshot } from './snapshot.ts'

/** The parts of an import's page that change while the page is open. They are the same for every visitor. */
export interface Parts {
  progress: Html
  actions: Html
  report: Html
}

export const partNames = ['progress', 'actions', 'report'] as const satisfies readonly (keyof Parts)[]

/** Renders all parts from one snapshot. */
export function partsOf(appId: number, snapshot: Snapshot): Parts {
  const { view } = snapshot.details
  return {
    progress: progressPart(appId, snapshot),
    actions: html`${
      isCancellable(view.state) &&
      html`<p class="actions"><a class="button danger" href="/apps/${appId}/imports/${view.import_id}/cancel">Cancel the import…</a></p>`
    }${
      isRetryable(snapshot.details) &&
      html`<p class="actions"><a class="button" href="/apps/${appId}/imports/${view.import_id}/retry">Retry the import…</a></p>`
    }`,
    report: html`${reportPart(appId, snapshot)}${afterDryRunPart(appId, snapshot.details)}`,
  }
}
