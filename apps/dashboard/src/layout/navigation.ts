import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'

/** The areas of an app's pages, in the order of the navigation. The address of an area is `/apps/{app}/{area}`. */
const appAreas = {
  imports: 'Imports',
  'data-import': 'Data import',
  profiles: 'Profiles',
  deletions: 'Deletions',
  credentials: 'Credentials',
  webhooks: 'Webhooks',
  settings: 'Settings',
  'audit-log': 'Audit log',
} as const

/** The areas of an app's pages that only operators see. */
const operatorAreas = { operation: 'Operation' } as const

/** The area that a page belongs to. */
export type Area =
  | keyof typeof appAreas
  | keyof typeof operatorAreas
  | 'queues'
  | 'apps'
  | 'all-audit-log'
  | 'all-imports'

/** Renders links to every area that the visitor may see, and the switch between apps. */
export function navigation({ visitor, visitedApp: app }: FastifyRequest, area: Area | undefined): Html | undefined {
  if (visitor === undefined) return undefined
  const areas = { ...appAreas, ...(visitor.isOperator && operatorAreas) }
  return html`<nav class="navigation" aria-label="Areas">
    ${
      app &&
      appSwitch(
        app.name,
        visitor.apps.filter(({ appId }) => appId !== app.appId),
        visitor.isOperator,
      )
    }
    <ul>
      ${app && Object.entries(areas).map(([name, label]) => link(`/apps/${app.appId}/${name}`, label, name === area))}
      ${!app && (visitor.isOperator || visitor.apps.length > 1) && link('/apps', 'Apps', area === 'apps')}
      ${visitor.isOperator && !app && link('/imports', 'All imports', area === 'all-imports')}
      ${visitor.isOperator && link('/queues', 'Queues', area === 'queues')}
      ${visitor.isOperator && !app && link('/audit-log', 'Audit log', area === 'all-audit-log')}
    </ul>
  </nav>`
}

function link(address: string, label: string, isCurrent: boolean): Html {
  return html`<li><a href="${address}"${isCurrent && html` aria-current="page"`}>${label}</a></li>`
}

function appSwitch(name: string, others: readonly { appId: number; name: string }[], isOperator: boolean): Html {
  if (others.length === 0 && !isOperator) return html`<p class="app-name">${name}</p>`
  return html`<details class="app-switch">
    <summary><span class="app-name">${name}</span><span class="hint">switch app</span></summary>
    <ul>
      ${others.map((other) => link(`/apps/${other.appId}`, other.name, false))}
      ${isOperator && link('/apps', 'All apps…', false)}
    </ul>
  </details>`
}
