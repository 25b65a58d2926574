import { html } from '@sluice/html'
import type { ImportDetails } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { keepChangesBox } from '../data-import/keep-changes-field.ts'
import { count, counted } from '../layout/format.ts'
import { sendPage } from '../layout/page.ts'
import { importName } from './labels.ts'

/** Maximum number of new keys that the question lists. */
const shownKeys = 100

/** Returns whether the page of an import offers to import the file that was checked. */
export function isImportable({ view, fileStored, importedAs }: ImportDetails): boolean {
  const isOfRows = view.dry_run === true && view.undo_of === undefined
  return fileStored && isOfRows && view.state === 'completed' && importedAs === null
}

/**
 * Answers with a page that asks for confirmation before the file of a dry run is imported. `registered` has the keys
 * that the app has already.
 */
export function sendImportQuestion(
  reply: FastifyReply,
  appId: number,
  details: ImportDetails,
  registered: ReadonlySet<string>,
): FastifyReply {
  const { view } = details
  const address = `/apps/${appId}/imports/${view.import_id}`
  const newKeys = Object.entries(view.types).filter(([key]) => !registered.has(key))
  const warned = new Set(view.warnings.map(({ key }) => key))
  const further = newKeys.length - shownKeys
  return sendPage(reply, {
    title: `Import ${importName(details)}?`,
    area: 'imports',
    content: html`<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>The same file is imported with the same options, as a new import after all imports that wait.
        ${view.rows_failed > 0 && `${counted(view.rows_failed, 'row')} with errors will not be applied.`}</p>
      ${
        newKeys.length > 0 &&
        html`<p>${counted(newKeys.length, 'key')} will be registered. The type of a registered key is final:</p>
        <ul>${newKeys.slice(0, shownKeys).map(([key, type]) => html`<li class="wrap">${key}: ${type}${warned.has(key) && ', which may be wrong'}</li>`)}
          ${further > 0 && html`<li>… and ${count(further)} more</li>`}</ul>
        ${warned.size > 0 && html`<p class="hint">To choose other types, send the file again on the page <a href="/apps/${appId}/data-import">Data import</a>.</p>`}`
      }
      ${keepChangesBox(view.keep_changes)}
      <p class="actions"><button class="main">Import this file now</button><a class="button" href="${address}">Back</a></p>
    </form>`,
  })
}
