import { type Html, html } from '@sluice/html'
import type { ChangedValue, ImportDetails } from '@sluice/imports'
import { count, counted } from '../layout/format.ts'
import { cut } from './report-part.ts'
import type { Snapshot } from './snapshot.ts'

/** Maximum number of keys whose counts the page shows. */
const shownKeys = 50

/**
 * Renders what an import changed, or what a dry run or a held import would change; undefined if nothing was counted or
 * changed.
 */
export function changesPart({ details, changes }: Snapshot): Html | undefined {
  const counted = details.view.changes
  if (counted === null || counted.rows.created + counted.rows.changed === 0) return undefined
  const { view } = details
  const endsBefore = view.changes_file_ends_before_row
  const isPlan = view.dry_run || view.state === 'held'
  return html`<section aria-labelledby="changes">
    <h2 id="changes">${isPlan ? 'What the import would change' : 'What changed'}</h2>
    <p>${summary(counted)}</p>
    ${keyTable(counted.keys)}
    ${isPlan && !view.keep_changes && html`<p class="hint">To see the values, make a dry run of the file with “Keep what each row changes”.</p>`}
    ${endsBefore !== undefined && html`<p class="notice warn">${endsBefore === 1 ? 'The changes are counted, but could not be kept: there is no changes file.' : `The changes file ends before row ${count(endsBefore)} of the file. Changes from there on are counted, but not kept, so the import cannot be undone.`}</p>`}
    ${view.changes_file_url !== null && html`<p class="actions"><a class="button" href="${view.changes_file_url}">Download the changes file</a></p>`}
    ${changes.length > 0 && valueTable(changes, view.types)}
  </section>`
}

type Changes = NonNullable<ImportDetails['view']['changes']>

/** Returns the counts of changes in words. */
export function summary({ rows, values }: Changes): string {
  const withChanges = [
    ...(rows.created > 0 ? [`${counted(rows.created, 'user')} with first values`] : []),
    ...(rows.changed > 0 ? [`${counted(rows.changed, rows.created > 0 ? 'other row' : 'row')} with changes`] : []),
  ]
  if (withChanges.length === 0) return 'nothing.'
  const ofValues = (['added', 'changed', 'removed'] as const).filter((kind) => values[kind] > 0)
  return `${withChanges.join(', ')}. Values: ${ofValues.map((kind) => `${count(values[kind])} ${kind}`).join(', ')}.`
}

function keyTable(keys: Changes['keys']): Html {
  const all = Object.entries(keys).sort(([one], [other]) => one.localeCompare(other))
  return html`<div class="scroll" tabindex="0" role="region" aria-labelledby="changes"><table>
    <caption class="hint">Values by key${all.length > shownKeys && `, the first ${shownKeys} of ${count(all.length)} keys`}</caption>
    <thead><tr><th scope="col">Key</th><th scope="col" class="number">Added</th><th scope="col" class="number">Changed</th><th scope="col" class="number">Removed</th></tr></thead>
    <tbody>${all
      .slice(0, shownKeys)
      .map(
        ([key, { added, changed, removed }]) =>
          html`<tr><th scope="row" class="wrap">${cut(key)}</th><td class="number">${count(added)}</td><td class="number">${count(changed)}</td><td class="number">${count(removed)}</td></tr>`,
      )}</tbody>
  </table></div>`
}

function valueTable(changes: readonly ChangedValue[], types: ImportDetails['view']['types']): Html {
  const value = (text: string) => (text === '' ? html`<span class="hint">none</span>` : cut(text))
  return html`<div class="scroll" tabindex="0" role="region" aria-labelledby="changes"><table class="cells">
    <caption class="hint">The first ${counted(changes.length, 'changed value')}${changes.some(({ key }) => types[key] === 'datetime') && ', with datetimes in UTC'}</caption>
    <thead><tr><th scope="col">User ID</th><th scope="col">Key</th><th scope="col">Before</th><th scope="col">After</th></tr></thead>
    <tbody>${changes.map(({ userId, key, before, after }) => html`<tr><td>${cut(userId)}</td><td>${cut(key)}</td><td>${value(before)}</td><td>${value(after)}</td></tr>`)}</tbody>
  </table></div>`
}
