import { type Html, html } from '@sluice/html'
import type { ImportOverview } from '@sluice/operations'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { counted, time } from '../layout/format.ts'

/** A pause, and who made it if the audit log knows. */
export interface KnownPause {
  /** Undefined for the pause of all apps. */
  appId: number | undefined
  since: Date
  by: string | undefined
}

/** Renders who made a pause, and when: " by root since …". */
export function pausedBy({ since, by }: KnownPause): Html {
  return html`${by !== undefined && html` by ${by}`} since ${time(since)}`
}

/** Renders the button that resumes imports, or leads to the question before a pause. The routes are below `address`. */
export function pauseButton(request: FastifyRequest, address: string, isPaused: boolean, subject: string): Html {
  if (!isPaused) return html`<p><a class="button danger" href="${address}/pause">Pause ${subject}…</a></p>`
  return html`<form method="post" action="${address}/resume" class="actions">
    ${formTokenField(request)}
    <button class="main">Resume ${subject}</button>
  </form>`
}

/** Asks for confirmation before a pause, and says what it stops. */
export function confirmPause(
  request: FastifyRequest,
  { processing = 0, queued = 0 }: ImportOverview['active'],
  { back, subject }: { back: string; subject: string },
): Html {
  return html`<div class="notice warn">
      <p><strong>${counted(processing, 'running import')} will be released after the current batch, and ${counted(queued, 'queued import')} will not start.</strong></p>
      <p>After the pause, each import continues where it was. Members see on their pages that imports are paused.</p>
      <p>Everything else goes on: requests and uploads are accepted, mails and webhooks are sent, exports and deletions run.</p>
    </div>
    <div class="actions">
      <form method="post">${formTokenField(request)}<button class="danger">Pause ${subject}</button></form>
      <a href="${back}">Back</a>
    </div>`
}
