import type { AppView } from '@sluice/accounts'
import { maxProfileKeys } from '@sluice/config'
import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { count, counted } from '../layout/format.ts'
import { type KnownPause, pauseButton, pausedBy } from './pause-parts.ts'

/**
 * Renders the buttons and forms by which operators pause an app and set its limits. `refused` has the fields of limits
 * that are not valid.
 */
export function pausesContent(
  request: FastifyRequest,
  { app, pauses, refused }: { app: AppView; pauses: readonly KnownPause[]; refused: URLSearchParams | undefined },
): Html {
  return html`
    ${refused !== undefined && html`<p class="notice bad" role="alert">These are no limits. A rate reads like 100/10m, and an app has at most ${count(maxProfileKeys)} profile keys.</p>`}
    ${pauseSection(request, pauses)}
    ${limitSection(request, app, refused)}`
}

function limitSection(request: FastifyRequest, app: AppView, refused: URLSearchParams | undefined): Html {
  const { app_id: appId, users, profile_keys: keys, limits } = app
  const shown = (name: keyof typeof limits) => refused?.get(name) ?? limits[name] ?? ''
  return html`<section class="card narrow" aria-labelledby="limits">
    <h2 id="limits">Limits</h2>
    <p>App ID: <code data-copy="app ID">${appId}</code></p>
    <p>The app has ${counted(users, 'user')} and ${counted(keys, 'profile key')}. An empty field means that the setting of the deployment applies. Changes take effect at once.</p>
    <form method="post" action="/apps/${appId}/operation/limits">
      ${formTokenField(request)}
      <label>First requests of bulk imports, such as 100/10m
        <input name="bulk_import" value="${shown('bulk_import')}" pattern="[1-9][0-9]*/[0-9]+(s|m|h|d)?">
      </label>
      <label>Most profile keys
        <input name="profile_keys" inputmode="numeric" value="${shown('profile_keys')}" pattern="[1-9][0-9]*">
      </label>
      <button class="main">Save the limits</button>
    </form>
  </section>`
}

function pauseSection(request: FastifyRequest, pauses: readonly KnownPause[]): Html {
  const { appId } = visitedApp(request)
  const ofApp = pauses.find((pause) => pause.appId === appId)
  const ofAllApps = pauses.find((pause) => pause.appId === undefined)
  return html`<section class="card" aria-labelledby="imports">
    <h2 id="imports">Imports</h2>
    ${
      ofApp === undefined
        ? html`<p>The imports of this app run.</p>`
        : html`<p class="notice warn"><strong>The imports of this app are paused</strong>${pausedBy(ofApp)}.</p>`
    }
    ${ofAllApps !== undefined && html`<p class="notice warn">The imports of <a href="/queues">all apps</a> are paused${pausedBy(ofAllApps)}.</p>`}
    ${pauseButton(request, `/apps/${appId}/operation`, ofApp !== undefined, 'the imports of this app')}
  </section>`
}
