import { html } from '@sluice/html'
import type { ImportDetails } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { sendPage } from '../layout/page.ts'
import { summary } from './changes-part.ts'
import { importName } from './labels.ts'

/** Whether an import's page offers to undo it: its whole changes file is stored (changes.md §3, Allowed). */
export function isUndoable(view: ImportDetails['view']): boolean {
  return (
    view.finished_at !== null &&
    !view.dry_run &&
    view.changes_file_url !== null &&
    view.changes_file_ends_before_row === undefined
  )
}

/** Answers with a page that says what an undo takes back, before it does. */
export function sendUndoQuestion(reply: FastifyReply, appId: number, details: ImportDetails): FastifyReply {
  const { view } = details
  const address = `/apps/${appId}/imports/${view.import_id}`
  return sendPage(reply, {
    title: `Undo ${importName(details)}?`,
    area: 'imports',
    content: html`<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>The import changed: ${view.changes !== null && summary(view.changes)}</p>
      <p>Each value becomes what it was before, if it still is what the import left. Values that changed since stay, and are in the
        error file of the undo. Keys stay registered. The undo is a new import after all that wait, and can itself be undone.</p>
      <p>A dry run counts what would be taken back now, and changes nothing.</p>
      <p class="actions">
        <button class="main" formaction="${address}/undo/dry-run">Dry run</button>
        <button class="danger">Undo the import</button>
        <a class="button" href="${address}">Back</a>
      </p>
    </form>`,
  })
}
