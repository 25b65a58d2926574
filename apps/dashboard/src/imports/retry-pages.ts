import { fileMessages } from '@sluice/contract'
import { html } from '@sluice/html'
import type { ImportDetails } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { sendPage } from '../layout/page.ts'
import { importName } from './labels.ts'

/** Returns whether an import's page offers a retry: the file is stored, and may be imported by now. */
export function isRetryable({ view, fileStored }: ImportDetails): boolean {
  return fileStored && (view.state === 'cancelled' || (view.state === 'failed' && mayPass(view.error ?? '')))
}

/**
 * Whether the cause of a failure is not the file: the service gave up, or keys had to be registered. A file that is
 * refused for itself would be refused again. The command line still retries it.
 */
function mayPass(error: string): boolean {
  const causes = [fileMessages.tooManyAttempts(0), fileMessages.tooManyKeys(0)]
  return causes.includes(error.replaceAll(/\d+/g, '0')) || error.startsWith(fileMessages.keysNotRegistered(''))
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

/** Answers with a page that says why the import was not retried. */
export function sendRetryRefused(reply: FastifyReply, address: string, reason: string): FastifyReply {
  return sendPage(reply.code(409), {
    title: 'The import cannot be retried',
    area: 'imports',
    content: html`<p>The import cannot be retried: ${reason}.</p><p><a href="${address}">Go to the import</a></p>`,
  })
}
