import { holdReasonText } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { ImportDetails } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { counted, time } from '../layout/format.ts'
import { sendPage } from '../layout/page.ts'
import { summary } from './changes-part.ts'
import { importName } from './labels.ts'

/** Renders why an import is or was held, or would be (changes.md §2, Held); undefined if there are no reasons. */
export function heldPart({ view, holdReasons: reasons }: ImportDetails): Html | undefined {
  const { held, dry_run: isDryRun } = view
  if (reasons.length === 0) return undefined
  const verb = isDryRun ? 'would be' : held === null ? 'was' : 'is'
  return html`<div class="notice warn">
    <p><strong>The import ${verb} held for approval:</strong></p>
    <ul>${reasons.map((reason) => html`<li>${holdReasonText(reason)}</li>`)}</ul>
    ${held?.until && html`<p>Without approval, it fails at ${time(new Date(held.until))}. Later imports of the app wait for it.</p>`}
  </div>`
}

/** Answers with a page that says what approving a held import does, before it does. */
export function sendApproveQuestion(reply: FastifyReply, appId: number, details: ImportDetails): FastifyReply {
  const { view } = details
  const address = `/apps/${appId}/imports/${view.import_id}`
  if (view.held === null) return sendNotHeld(reply, address)
  return sendPage(reply, {
    title: `Approve ${importName(details)}?`,
    area: 'imports',
    content: html`${heldPart(details)}<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>This applies ${counted(view.rows_total - view.rows_failed, 'row')} of the file to what is stored then, without another check.
        ${view.rows_failed > 0 && `${counted(view.rows_failed, 'row')} with errors ${view.rows_failed === 1 ? 'is' : 'are'} not applied.`}</p>
      ${view.changes !== null && html`<p>The check found: ${summary(view.changes)}</p>`}
      <p>${view.keep_changes ? 'What each row changes is kept, so the import can be undone.' : html`<strong>The import cannot be undone</strong>, because it does not keep what its rows change.`}</p>
      <p class="actions"><button class="main">Apply ${counted(view.rows_total - view.rows_failed, 'row')}</button><a class="button" href="${address}">Back</a></p>
    </form>`,
  })
}

/** Answers with a page that says that somebody else approved or cancelled the import, or that its time has passed. */
export function sendNotHeld(reply: FastifyReply, address: string): FastifyReply {
  return sendPage(reply.code(409), {
    title: 'The import is not held',
    area: 'imports',
    content: html`<p>There is nothing to approve: the import was approved, has ended, or was never held.</p><p><a href="${address}">Go to the import</a></p>`,
  })
}
