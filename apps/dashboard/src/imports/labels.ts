import type { ImportView } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { ListedImport } from '@sluice/imports'

const states: Readonly<Record<ImportView['state'], { words: string; look: '' | 'good' | 'bad' | 'warn' | 'busy' }>> = {
  awaiting_upload: { words: 'Waiting for its file', look: '' },
  queued: { words: 'Queued', look: '' },
  processing: { words: 'Running', look: 'busy' },
  completed: { words: 'Completed', look: 'good' },
  failed: { words: 'Failed', look: 'bad' },
  expired: { words: 'No file arrived', look: 'warn' },
  cancelled: { words: 'Cancelled', look: 'warn' },
}

/** Renders an import's state in words. The colour carries no further information. */
export function stateMark({ state, dry_run: isDryRun }: ImportView): Html {
  const { words, look } = states[state]
  return html`<span class="mark ${look}">${words}</span>${isDryRun && html` <span class="mark">Dry run</span>`}`
}

const sources: Readonly<Record<ImportView['source'], string>> = {
  v3: 'API',
  v2: 'API (v2)',
  dashboard: 'Dashboard',
  bucket: 'Bucket',
}

/** Returns the upload route of an import's file. */
export function sourceName({ source }: ImportView): string {
  return sources[source]
}

/** Returns the name of an import: the name of its file, or the beginning of its ID. */
export function importName({ view, fileName }: Pick<ListedImport, 'view' | 'fileName'>): string {
  return fileName ?? `Import ${view.import_id.slice(0, 8)}`
}
