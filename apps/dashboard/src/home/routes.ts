import { listApps } from '@sluice/accounts'
import { html } from '@sluice/html'
import { visitedApp, visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { sendPage } from '../layout/page.ts'

/** Maximum number of apps that the list shows. The search finds the others. */
const listLimit = 100

/**
 * Adds the start page: the imports of a member's only app, the list of apps if there are several, or the operators'
 * queues.
 */
export const homeRoutes: PageRoutes = (dashboard, { db }) => {
  dashboard.get('/', async (request, reply) => {
    const { apps, isOperator } = visitorOf(request)
    const [only, ...others] = apps
    if (isOperator && only === undefined) return reply.redirect('/queues', 303)
    return reply.redirect(only !== undefined && others.length === 0 ? `/apps/${only.appId}` : '/apps', 303)
  })

  dashboard.get('/apps/:appId', async (request, reply) => {
    return reply.redirect(`/apps/${visitedApp(request).appId}/imports`, 303)
  })

  dashboard.get<{ Querystring: { search?: string } }>('/apps', async (request, reply) => {
    const visitor = visitorOf(request)
    const search = String(request.query.search ?? '')
    const apps = visitor.isOperator ? await listApps(db, search, listLimit) : visitor.apps
    return sendPage(reply, {
      title: 'Apps',
      area: 'apps',
      content: html`
        ${
          visitor.isOperator &&
          html`<form method="get" class="search" role="search">
            <label>Name or ID <input type="search" name="search" value="${search}"></label><button>Find</button>
          </form>`
        }
        <ul class="cards">
          ${apps.map(({ appId, name }) => html`<li><a href="/apps/${appId}"><strong>${name}</strong><span class="hint">app ${appId}</span></a></li>`)}
        </ul>
        ${apps.length === 0 && html`<p>No app matches.</p>`}
        ${apps.length === listLimit && html`<p class="hint">Only the first ${listLimit} apps are shown. Search to find others.</p>`}`,
    })
  })
}
