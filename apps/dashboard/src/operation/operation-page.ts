import { type Html, html } from '@sluice/html'
import type { Pauses } from '@sluice/imports'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { time } from '../layout/format.ts'

/** Renders what operators can change of an app. */
export function operationContent(request: FastifyRequest, pauses: Pauses): Html {
  return html`${pauseSection(request, pauses)}`
}

function pauseSection(request: FastifyRequest, { ofApp, ofAllApps }: Pauses): Html {
  const { appId } = visitedApp(request)
  return html`<section class="card" aria-labelledby="imports">
    <h2 id="imports">Imports</h2>
    ${
      ofApp === null
        ? html`<p>The imports of this app run.</p>`
        : html`<p class="notice warn"><strong>The imports of this app are paused</strong> since ${time(ofApp)}.</p>`
    }
    ${ofAllApps !== null && html`<p class="notice warn">The imports of <a href="/queues">all apps</a> are paused since ${time(ofAllApps)}.</p>`}
    <p class="hint">A running import is released after its current batch, and continues from there. Requests and uploads are accepted.</p>
    ${pauseButton(request, `/apps/${appId}/operation`, ofApp !== null, 'the imports of this app')}
  </section>`
}

/** Renders the button that pauses or resumes imports. Its routes are below `address`. */
export function pauseButton(request: FastifyRequest, address: string, isPaused: boolean, subject: string): Html {
  return html`<form method="post" action="${address}/${isPaused ? 'resume' : 'pause'}" class="actions">
    ${formTokenField(request)}
    <button class="${isPaused ? 'main' : 'danger'}">${isPaused ? 'Resume' : 'Pause'} ${subject}</button>
  </form>`
}
