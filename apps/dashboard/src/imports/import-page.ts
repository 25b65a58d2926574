import { html } from '@sluice/html'
import { type ImportDetails, isCancellable } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { counted } from '../layout/format.ts'
import { sendPage } from '../layout/page.ts'
import { type Parts, partsOf } from './page-parts.ts'
import type { Snapshot } from './snapshot.ts'
import { importName } from './labels.ts'

/** Answers with an import's page. Where it has not ended, a script keeps it up to date. */
export function sendImport(reply: FastifyReply, appId: number, snapshot: Snapshot): FastifyReply {
  const { details } = snapshot
  const address = `/apps/${appId}/imports/${details.view.import_id}`
  const parts = partsOf(appId, snapshot)
  const slot = (name: keyof Parts) => html`<div data-part="${name}">${parts[name]}</div>`
  return sendPage(reply, {
    title: importName(details),
    area: 'imports',
    scripts: hasEnded(details) ? [] : ['live-import.ts'],
    content: html`<div${!hasEnded(details) && html` data-events="${address}/events"`}>
      ${slot('progress')}
      ${slot('actions')}
      ${!hasEnded(details) && html`<noscript><p class="hint">Load the page again to see how far it is.</p></noscript>`}
      ${slot('report')}
    </div>`,
  })
}

/** Nothing of the page will change any more. */
export function hasEnded({ view, reportDue }: ImportDetails): boolean {
  // An expired one may still be revived by an upload that comes late, but nobody watches for that.
  return view.finished_at !== null && !reportDue
}

/** Asks whether an import is really to be cancelled. */
export function sendCancelQuestion(reply: FastifyReply, appId: number, details: ImportDetails): FastifyReply {
  const { view } = details
  const address = `/apps/${appId}/imports/${view.import_id}`
  if (!isCancellable(view.state)) return sendTooLate(reply, address)
  const applied = view.dry_run
    ? 'It is a dry run: nothing was applied, and nothing will be.'
    : view.rows_applied > 0
      ? `${counted(view.rows_applied, 'row')} applied so far stay applied, and those that are applied until you press the button. The rest of the file is not.`
      : 'Nothing of it has been applied so far.'
  return sendPage(reply, {
    title: `Cancel ${importName(details)}?`,
    area: 'imports',
    content: html`<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>${applied}</p>
      <p>The imports behind it go on at once. This cannot be undone, but the file can be imported again.</p>
      <p class="actions"><button class="danger">Cancel the import</button><a class="button" href="${address}">Back</a></p>
    </form>`,
  })
}

/** Says that an import has ended before it could be cancelled. */
export function sendTooLate(reply: FastifyReply, address: string): FastifyReply {
  return sendPage(reply.code(409), {
    title: 'The import has ended already',
    area: 'imports',
    content: html`<p>There is nothing left to cancel.</p><p><a href="${address}">To the import</a></p>`,
  })
}
