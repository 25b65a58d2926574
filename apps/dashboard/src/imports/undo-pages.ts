import { type Html, html } from '@sluice/html'
import type { ImportDetails } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { counted, time } from '../layout/format.ts'
import { sendPage } from '../layout/page.ts'
import { summary } from './changes-part.ts'
import { importName } from './labels.ts'

/**
 * Whether an import's page offers to undo it: its whole changes file is stored (changes.md §3, Asking for it;
 * changes.md §3, Allowed).
 */
export function isUndoable(view: ImportDetails['view']): boolean {
  return (
    view.finished_at !== null &&
    !view.dry_run &&
    view.changes_file_url !== null &&
    view.changes_file_ends_before_row === undefined
  )
}

/**
 * Answers with a page that says what an undo takes back, before it does. `dryRun` is the last dry run of the undo; the
 * button that undoes the import follows its numbers.
 */
export function sendUndoQuestion(
  reply: FastifyReply,
  appId: number,
  details: ImportDetails,
  dryRun: ImportDetails | undefined,
): FastifyReply {
  const { view } = details
  const address = `/apps/${appId}/imports/${view.import_id}`
  const isCounting = dryRun !== undefined && dryRun.view.finished_at === null
  const isCounted = dryRun?.view.state === 'completed'
  return sendPage(reply, {
    title: `Undo ${view.source === 'undo' ? importName(details).replace('Undo', 'the undo') : importName(details)}?`,
    area: 'imports',
    scripts: isCounting ? ['refresh-parts.ts'] : [],
    content: html`<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>The import changed: ${view.changes !== null && summary(view.changes)}</p>
      <p>Each value becomes what it was before, if it still is what the import left. Values that changed since stay, and are in the
        error file of the undo. Keys stay registered. The undo is a new import after all that wait, and can itself be undone.</p>
      <div data-refresh="${isCounting ? 1000 : 0}">
        ${dryRun === undefined ? html`<p>A dry run counts what would be taken back now, and changes nothing.</p>` : countedPart(appId, dryRun)}
        <p class="actions">
          ${isCounted && html`<button class="danger">Undo the import</button>`}
          ${!isCounting && html`<button${!isCounted && html` class="main"`} formaction="${address}/undo/dry-run">${dryRun === undefined ? 'Count first' : 'Count again'}</button>`}
          <a class="button" href="${address}">Back</a>
        </p>
      </div>
    </form>`,
  })
}

/** Renders what a dry run of an undo has counted, or that it is not finished. */
function countedPart(appId: number, { view }: ImportDetails): Html {
  const link = html`<a href="/apps/${appId}/imports/${view.import_id}">dry run</a>`
  if (view.finished_at === null)
    return html`<p role="status">A ${link} counts what would be taken back…</p><noscript><p class="hint">Reload the page to see the numbers.</p></noscript>`
  if (view.state !== 'completed' || view.changes === null)
    return html`<p class="notice bad">The ${link} failed: ${view.error}.</p>`
  return html`<div class="notice"><p><strong>The undo would change:</strong> ${summary(view.changes)}</p>
    ${view.rows_failed > 0 && html`<p>${counted(view.rows_failed, 'value')} would stay, because ${view.rows_failed === 1 ? 'it' : 'they'} changed since or ${view.rows_failed === 1 ? 'its user is' : 'their users are'} gone.</p>`}
    <p>Counted by a ${link}, ${time(new Date(view.finished_at))}.</p></div>`
}
