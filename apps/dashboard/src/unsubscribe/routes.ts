import { findSubscriber, unsubscribe } from '@sluice/accounts'
import { audited } from '@sluice/audit-log'
import { html } from '@sluice/html'
import { PageNotFound } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'

interface OneKey {
  Params: { app: string; key: string }
}

const settingsLink = (appId: number) =>
  html`<p>Members can change this on the page <a href="/apps/${appId}/settings">Settings</a>.</p>`

const appIn = (id: string) => (/^[1-9]\d{0,8}$/.test(id) ? Number(id) : 0)

/**
 * Adds the page that the header `List-Unsubscribe` of mails names, and the request by which mail programs end mails
 * with one click (RFC 8058). The key in the address is the permission, so neither needs a session.
 */
export const unsubscribeRoutes: PageRoutes = (dashboard, { db }) => {
  // Mail scanners follow links, so only the button ends the mails.
  dashboard.get<OneKey>('/unsubscribe/:app/:key', { config: { access: 'guests' } }, async ({ params }, reply) => {
    const found = await findSubscriber(db, appIn(params.app), params.key)
    if (found === undefined) throw new PageNotFound()
    const content = html`<form method="post" class="card narrow">
      <p>${found.email} ${found.getsMails ? 'gets' : 'does not get'} mails about imports and deletions of <strong>${found.appName}</strong>.</p>
      ${found.getsMails ? html`<button class="main">Send no more mails</button>` : settingsLink(appIn(params.app))}
    </form>`
    return sendPage(reply, { title: 'Mails of an app', content })
  })

  dashboard.register(async (scope) => {
    // A mail program may send the form URL-encoded or as multipart. Its only field repeats what the address says.
    scope.addContentTypeParser('multipart/form-data', { parseAs: 'buffer' }, async () => new URLSearchParams())
    const config = { access: 'guests', sender: 'mail program', audit: { what: 'member.mails', by: 'handler' } } as const
    scope.post<OneKey>('/unsubscribe/:app/:key', { config }, async ({ params, ip, id }, reply) => {
      const appId = appIn(params.app)
      const found = await findSubscriber(db, appId, params.key)
      if (found === undefined) throw new PageNotFound()
      const who = { type: 'guest', name: found.email } as const
      const event = { appId, who, what: 'member.mails', target: found.email, address: ip, requestId: id } as const
      // Mail programs may repeat the request.
      if (found.getsMails) await audited(db, event, () => unsubscribe(db, appId, params.key))
      const content = html`<div class="card narrow"><p>${found.email} gets no more mails of <strong>${found.appName}</strong>.</p>${settingsLink(appId)}</div>`
      return sendPage(reply, { title: 'No more mails', content })
    })
  })
}
