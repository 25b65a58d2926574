import type { ImportView } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { ImportSummary } from '@sluice/imports'

const states: Readonly<Record<ImportView['state'], { words: string; tone: '' | 'good' | 'bad' | 'warn' | 'busy' }>> = {
  awaiting_upload: { words: 'Waiting for its file', tone: '' },
  queued: { words: 'Queued', tone: '' },
  processing: { words: 'Running', tone: 'busy' },
  held: { words: 'Held', tone: 'warn' },
  completed: { words: 'Completed', tone: 'good' },
  failed: { words: 'Failed', tone: 'bad' },
  expired: { words: 'No file arrived', tone: 'warn' },
  cancelled: { words: 'Cancelled', tone: 'warn' },
}

/** Renders an import's state in words. The colour carries nothing that words and counts do not. */
export function stateBadge(view: ImportSummary): Html {
  const { words, tone } = states[view.state]
  const shown = hasOnlyErrors(view) ? 'warn' : tone
  return html`<span class="badge ${shown}">${words}</span>${view.dry_run && html` <span class="badge">Dry run</span>`}`
}

/** Whether an import has completed and its errors left no row to apply. A dry run never applies any. */
export function hasOnlyErrors({ state, dry_run: isDryRun, ...rows }: ImportSummary): boolean {
  const isNoneApplied = isDryRun ? rows.rows_failed === rows.rows_total : rows.rows_applied === 0
  return state === 'completed' && rows.rows_failed > 0 && isNoneApplied
}

/** Returns a state in words. */
export function stateName(state: ImportView['state']): string {
  return states[state].words
}

/** The routes by which files arrive, in words. */
export const sources: Readonly<Record<ImportView['source'], string>> = {
  v3: 'API',
  v2: 'API (v2)',
  dashboard: 'Dashboard',
  undo: 'Undo',
  bucket: 'Bucket',
}

/** Returns the name of the route by which an import's file arrived. */
export function sourceName({ source }: ImportSummary): string {
  return sources[source]
}

/** Renders a link to another import of the app, with the beginning of its ID. */
export function importLink(appId: number, importId: string): Html {
  return html`<a href="/apps/${appId}/imports/${importId}">${importId.slice(0, 8)}</a>`
}

/** Returns the name of an import: the name of its file, or the beginning of its ID. */
export function importName({ view }: { view: ImportSummary }): string {
  if (view.source === 'undo')
    return `Undo ${view.file_name === null ? view.import_id.slice(0, 8) : `of ${view.file_name}`}`
  return view.file_name ?? `Import ${view.import_id.slice(0, 8)}`
}
