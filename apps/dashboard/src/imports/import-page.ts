import { html } from '@sluice/html'
import { type ImportDetails, isCancellable } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { counted } from '../layout/format.ts'
import { sendPage } from '../layout/page.ts'
import { importName } from './labels.ts'
import { type Parts, partsOf } from './page-parts.ts'
import type { Snapshot } from './snapshot.ts'

/** Answers with an import's page. A script keeps the page up to date until the import has ended. */
export function sendImport(reply: FastifyReply, appId: number, snapshot: Snapshot): FastifyReply {
  const { details } = snapshot
  const address = `/apps/${appId}/imports/${details.view.import_id}`
  const parts = partsOf(appId, snapshot)
  const slot = (name: keyof Parts) => html`<div data-part="${name}">${parts[name]}</div>`
  return sendPage(reply, {
    title: importName(details),
    area: 'imports',
    scripts: hasEnded(details) ? [] : ['live-import.ts'],
    content: html`<p class="hint">Import ID: <code data-copy="import ID">${details.view.import_id}</code></p>
    <div${!hasEnded(details) && html` data-events="${address}/events"`}>
      ${slot('progress')}
      ${slot('actions')}
      ${!hasEnded(details) && html`<noscript><p class="hint">Reload the page to see the current progress.</p></noscript>`}
      ${slot('report')}
    </div>`,
  })
}

/** Whether the page of an import will no longer change. */
export function hasEnded({ view, reportDue }: ImportDetails): boolean {
  // A late upload may still revive an expired import, but pages do not wait for it.
  return view.finished_at !== null && !reportDue
}

/** Answers with a page that asks for confirmation before an import is cancelled. */
export function sendCancelQuestion(reply: FastifyReply, appId: number, details: ImportDetails): FastifyReply {
  const { view } = details
  const address = `/apps/${appId}/imports/${view.import_id}`
  if (!isCancellable(view.state)) return sendTooLate(reply, address)
  const applied = view.dry_run
    ? 'It is a dry run: nothing was applied, and nothing will be.'
    : view.rows_applied > 0
      ? `${counted(view.rows_applied, 'row')} applied so far stay applied, and so do the rows that are applied until you press the button. The rest of the file is not applied.`
      : 'Nothing has been applied so far.'
  return sendPage(reply, {
    title: `Cancel ${importName(details)}?`,
    area: 'imports',
    content: html`<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>${applied}</p>
      <p>The imports that wait for this one can then start at once. You cannot undo this, but you can import the file again.</p>
      <p class="actions"><button class="danger">Cancel the import</button><a class="button" href="${address}">Back</a></p>
    </form>`,
  })
}

/** Answers with a page that says that the import had ended already. */
export function sendTooLate(reply: FastifyReply, address: string): FastifyReply {
  return sendPage(reply.code(409), {
    title: 'The import has ended already',
    area: 'imports',
    content: html`<p>There is nothing left to cancel.</p><p><a href="${address}">Go to the import</a></p>`,
  })
}
