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

/** The areas outside an app. Only operators see them, but members of several apps also see the list of apps. */
const serviceAreas = { apps: 'Apps', 'all-imports': 'All imports', queues: 'Queues', 'all-audit-log': 'All audit logs' }

const serviceAddresses = { apps: '/apps', 'all-imports': '/imports', queues: '/queues', 'all-audit-log': '/audit-log' }

export const areaNames = { ...appAreas, ...operatorAreas, ...serviceAreas } as const

/** The area that a page belongs to. */
export type Area = keyof typeof areaNames

/** Renders links to every area that the visitor may see, and the switch between apps. */
export function navigation({ visitor, visitedApp: app }: FastifyRequest, area: Area | undefined): Html | undefined {
  if (visitor === undefined) return undefined
  const { isOperator, apps } = visitor
  const ofApp = Object.entries({ ...appAreas, ...(isOperator && operatorAreas) })
  const ofService = Object.entries(serviceAreas).filter(
    ([name]) => isOperator || (name === 'apps' && app === undefined && apps.length > 1),
  )
  const others = apps.filter(({ appId }) => appId !== app?.appId)
  return html`<nav class="navigation" aria-label="Areas">
    ${(app || ofService.length > 0) && menu(app?.name)}
    ${
      app &&
      html`${appSwitch(app.name, others)}
      <ul aria-label="${app.name}">${ofApp.map(([name, label]) => link(`/apps/${app.appId}/${name}`, label, name === area))}</ul>`
    }
    ${app && isOperator && html`<p class="group" aria-hidden="true">Service</p>`}
    ${ofService.length > 0 && html`<ul aria-label="Service">${ofService.map(([name, label]) => link(serviceAddresses[name as keyof typeof serviceAddresses], label, name === area))}</ul>`}
  </nav>`
}

/** On phones, the style sheet hides what follows the menu until it is open. Wider screens have no menu. */
function menu(appName: string | undefined): Html {
  return html`<details class="menu"><summary>Menu <span class="hint">${appName}</span></summary></details>`
}

function link(address: string, label: string, isCurrent: boolean): Html {
  return html`<li><a href="${address}"${isCurrent && html` aria-current="page"`}>${label}</a></li>`
}

function appSwitch(name: string, others: readonly { appId: number; name: string }[]): Html {
  if (others.length === 0) return html`<p class="app-name">${name}</p>`
  return html`<details class="app-switch">
    <summary><span class="app-name">${name}</span><span class="hint">switch app</span></summary>
    <ul>${others.map((other) => link(`/apps/${other.appId}`, other.name, false))}</ul>
  </details>`
}
