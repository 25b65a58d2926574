import { type Content, type Html, html } from '@sluice/html'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { formTokenField, isReading } from '../access/forms.ts'
import { assetPath } from '../assets/files.ts'
import { type Area, navigation } from './navigation.ts'
import { themeOf, themeSwitch } from './theme.ts'

/** Leads on from a page that may have no navigation. */
export const startLink = html`<p><a href="/">Go to the start page</a></p>`

export interface Page {
  /** The heading of the page, and the title of the browser's tab. */
  title: string
  /** The area that the navigation marks as current. */
  area?: Area
  content: Content
  /** An address that the browser opens at once. */
  goTo?: string
  /** Names of scripts in `browser/` that enhance the page. */
  scripts?: readonly string[]
}

/** Answers with a page in the common layout. The status is 200 unless the reply has another status already. */
export function sendPage(reply: FastifyReply, page: Page): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(layout(reply.request, page).text)
}

/** Answers a form of settings: the page at this address says that they are saved. */
export function redirectSaved(reply: FastifyReply, address: string): FastifyReply {
  return reply.redirect(`${address}?saved`, 303)
}

function layout(request: FastifyRequest, { title, area, content, goTo, scripts = [] }: Page): Html {
  const isSaved = (request.query as { saved?: unknown } | null)?.saved !== undefined
  const where = [title, request.visitedApp?.name, 'Sluice'].filter(Boolean).join(' · ')
  return html`<!doctype html>
<html lang="en" data-theme="${themeOf(request)}"${!isReading(request) && html` data-answer`}>
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <meta name="color-scheme" content="light dark">
  ${goTo && html`<meta http-equiv="refresh" content="${`0; url=${goTo}`}">`}
  <title>${where}</title>
  <link rel="icon" href="${assetPath('icon.svg')}">
  <link rel="stylesheet" href="${assetPath('style.css')}">
  ${['local-times.ts', 'copy-buttons.ts', 'own-address.ts', ...scripts].map((name) => html`<script type="module" src="${assetPath(name)}"></script>`)}
</head>
<body>
  <a class="skip" href="#content">Skip to the content</a>
  <header class="top">
    <a class="brand" href="/"><img src="${assetPath('icon.svg')}" alt="" width="24" height="24">Sluice</a>
    ${account(request)}
  </header>
  <div class="frame">
    ${navigation(request, area)}
    <main id="content" tabindex="-1">
      ${request.visitor && request.routeOptions.url !== '/help' && html`<a class="help" href="/help${area && `#${area}`}">Help</a>`}
      <h1>${title}</h1>
      ${isSaved && html`<p class="notice good" role="status">Saved.</p>`}
      ${content}
      <p class="hint zone">Times are in <span data-zone>UTC</span>.</p>
    </main>
  </div>
</body>
</html>
`
}

/** Renders who is signed in, and the forms of the frame. Addresses of no route have no form token. */
function account(request: FastifyRequest): Html {
  const { visitor, formToken } = request
  return html`<div class="account">
    ${visitor && html`<span class="who">${visitor.email}</span>`}
    ${formToken && themeSwitch(request)}
    ${visitor && html`<form method="post" action="/sign-out">${formTokenField(request)}<button class="quiet">Sign out</button></form>`}
  </div>`
}
