import { fileMessages, withoutFigures } from '@sluice/contract'
import { html } from '@sluice/html'
import type { ImportDetails } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { sendPage } from '../layout/page.ts'
import { importName } from './labels.ts'

/** Returns whether an import's page offers a retry (second-day.md §6, Retry). */
export function isRetryable({ view, fileStored }: ImportDetails): boolean {
  return fileStored && (view.state === 'cancelled' || view.state === 'failed')
}

/**
 * Whether the cause of a failure is not the file: the service gave up, or keys had to be registered. A file that is
 * refused for itself is probably refused again.
 */
export function mayPass(error: string): boolean {
  const causes = [fileMessages.tooManyAttempts(0), fileMessages.tooManyKeys(0)].map(withoutFigures)
  return causes.includes(withoutFigures(error)) || error.startsWith(fileMessages.keysNotRegistered(''))
}

/** Answers with a page that asks for confirmation before an import is retried. */
export function sendRetryQuestion(reply: FastifyReply, appId: number, details: ImportDetails): FastifyReply {
  const address = `/apps/${appId}/imports/${details.view.import_id}`
  return sendPage(reply, {
    title: `Retry ${importName(details)}?`,
    area: 'imports',
    content: html`<form method="post" class="card narrow">
      ${formTokenField(reply.request)}
      <p>The same file is imported again, from its beginning, as a new import after all imports that wait. Rows that were applied already and have not changed since are skipped.</p>
      <p class="actions"><button class="main">Retry the import</button><a class="button" href="${address}">Back</a></p>
    </form>`,
  })
}
