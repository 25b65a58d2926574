import { html } from '@sluice/html'
import type { FoundImport, ImportId, OneOfMany } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { importName, stateBadge } from '../imports/labels.ts'
import { counted } from '../layout/format.ts'
import { sendPage } from '../layout/page.ts'

export type ManyVerb = 'retry' | 'cancel'

const words: Readonly<Record<ManyVerb, { button: string; done: string; effect: string; none: string }>> = {
  retry: {
    button: 'Retry',
    done: 'being retried',
    effect: 'Each file is imported again, from its beginning, after all imports of its app that wait.',
    none: 'No import of this filter can be retried. An import that has a retry counts no more.',
  },
  cancel: {
    button: 'Cancel',
    done: 'cancelled',
    effect: 'Rows that are applied stay applied. No waiting import starts meanwhile. This cannot be undone.',
    none: 'No import of this filter waits, runs or is held.',
  },
}

/** Number of imports that the question shows. */
const shownImports = 20

/** Answers with a page that shows which imports a click would retry or cancel. `back` is the list with the filter. */
export function sendManyQuestion(
  reply: FastifyReply,
  verb: ManyVerb,
  question: { imports: readonly FoundImport[]; found: readonly ImportId[]; isCut: boolean; back: string },
): FastifyReply {
  const { imports, found, isCut, back } = question
  const { button, effect, none } = words[verb]
  const byId = new Map(imports.map((each) => [each.view.import_id, each]))
  const shown = found.slice(0, shownImports).flatMap(({ importId }) => byId.get(importId) ?? [])
  const apps = new Set(found.map(({ appId }) => appId)).size
  const number = counted(found.length, 'import')
  return sendPage(reply, {
    title: found.length === 0 ? `${button} imports` : `${button} ${number}?`,
    area: 'all-imports',
    content:
      found.length === 0
        ? html`<p class="card">${none}</p><p class="actions"><a class="button" href="${back}">Back</a></p>`
        : html`<form method="post" class="card">
            ${formTokenField(reply.request)}
            <input type="hidden" name="imports" value="${found.map(({ importId }) => importId).join(' ')}">
            <p>${number} of ${counted(apps, 'app')}. ${effect}</p>
            ${isCut && html`<p>More imports match. These are the newest ${imports.length}; do the rest afterwards.</p>`}
            <ul>${shown.map((each) => html`<li class="wrap">${each.appName}: ${importName(each)} ${stateBadge(each.view)}</li>`)}</ul>
            ${found.length > shown.length && html`<p>and ${found.length - shown.length} more.</p>`}
            <p class="actions"><button class="main">${button} ${number}</button><a class="button" href="${back}">Back</a></p>
          </form>`,
  })
}

/** Answers with a page that says what became of each import. */
export function sendManyResults(reply: FastifyReply, verb: ManyVerb, results: readonly OneOfMany[]): FastifyReply {
  const left = results.filter(({ reason }) => reason !== null)
  const { button, done } = words[verb]
  return sendPage(reply, {
    title: `${button} imports`,
    area: 'all-imports',
    content: html`<div class="card">
      <p role="status">${counted(results.length - left.length, 'import is', 'imports are')} ${done}.</p>
      ${
        left.length > 0 &&
        html`<p>${counted(left.length, 'import was', 'imports were')} left alone:</p>
        <ul>${left.map(({ import_id: id, reason }) => html`<li class="wrap"><a href="/imports?text=${id}">${id.slice(0, 8)}</a>: ${reason}</li>`)}</ul>`
      }
      <p class="actions"><a class="button" href="/imports">All imports</a></p>
    </div>`,
  })
}
