import { type ImportState, importStates } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { AliveWorker, Failure, ImportOverview, PausedApp, Waiting } from '@sluice/operations'
import type { FastifyRequest } from 'fastify'
import { stateName } from '../imports/labels.ts'
import { count, counted, duration, time } from '../layout/format.ts'
import { type KnownPause, pauseButton, pausedBy } from '../pauses/pause-parts.ts'
import { barChart } from './bar-chart.ts'
import { type Concern, concerns } from './concerns.ts'
import { historyCharts } from './history-charts.ts'
import type { Overview } from './overview.ts'
import { runbookAddress } from './runbook.ts'

/** The pause of all apps, and those of single apps. */
interface Pauses {
  ofAll: KnownPause | undefined
  ofApps: readonly (PausedApp & KnownPause)[]
}

/** Renders the overview: first the pauses and the problems, then the figures, then their details. */
export function overviewContent(request: FastifyRequest, overview: Overview, pauses: Pauses): Html {
  const { imports, workers, rows, period, history } = overview
  return html`${pauseSection(request, pauses)}
    <div data-refresh="5000" aria-live="off">
    ${verdict(overview)}
    ${figures(overview)}
    <section aria-labelledby="throughput"><h2 id="throughput">Rows per second, last hour</h2>${throughputChart(rows)}</section>
    ${historyCharts(period, history)}
    <section aria-labelledby="workers"><h2 id="workers">Workers</h2>${workerTable(workers)}</section>
    <section aria-labelledby="failures"><h2 id="failures">Failed imports, last 24 hours</h2>${failureTable(imports)}</section>
    </div>
    <p><a class="button" href="/queues/jobs">Jobs of the queues</a> <a class="button" href="/queues/runbook">Runbook</a></p>`
}

/** Draws a bar for each minute: the rows per second that imports of all apps have read. */
function throughputChart(minutes: readonly { minute: Date; rows: number }[]): Html {
  const bars = minutes.map(({ rows }) => rows / 60)
  const total = counted(Math.round(minutes.reduce((sum, { rows }) => sum + rows, 0)), 'row')
  return barChart({
    bars,
    ticks: [60, 45, 30, 15].map((ago) => `${ago} min ago`),
    label: `${total} in the last hour, at most ${count(Math.round(Math.max(...bars, 0)))} per second`,
    caption: `${total} in the last hour. The rows of an import are distributed evenly over its running time.`,
  })
}

function verdict(overview: Overview): Html {
  const found = concerns(overview)
  const healed = found.filter(({ grade }) => grade === 'healed')
  const open = found.filter(({ grade }) => grade !== 'healed')
  const tone = open.some(({ grade }) => grade === 'grave') ? 'bad' : 'warn'
  const openPart = (each: Concern) =>
    html`<div class="concern"><p><strong>${each.text}</strong></p>${advicePart(each)}</div>`
  const healedPart = (each: Concern) =>
    html`<details class="notice warn" id="healed"><summary>${each.text}</summary>${advicePart(each)}</details>`
  return html`${open.length === 0 ? html`<p class="notice good"><strong>All is well.</strong></p>` : html`<div class="notice ${tone}">${open.map(openPart)}</div>`}
    ${healed.map(healedPart)}`
}

/** Renders since when something is wrong, and what to do. */
function advicePart({ since, advice, runbook }: Concern): Html {
  return html`<p>${since && html`Since ${time(since)}. `}${advice}${runbook !== undefined && html` <a href="${runbookAddress(runbook)}">Runbook: ${runbook}</a>`}</p>`
}

function figures({ imports: { active, ended, oldestWaiting, oldestHeld }, workers, rows, now }: Overview): Html {
  const alive = workers.filter(({ isLost }) => !isLost).length
  // The current minute is incomplete, so the rate is from the two preceding minutes.
  const recent = rows.slice(-3, -1)
  const rate = recent.reduce((sum, minute) => sum + minute.rows, 0) / Math.max(1, recent.length * 60)
  const others = importStates.filter((state) => (ended[state] ?? 0) > 0 && state !== 'completed' && state !== 'failed')
  const oldest = (found: Waiting | undefined) =>
    found &&
    html`oldest: ${duration(Math.max(1000, now.getTime() - found.since.getTime()))}, <a href="/apps/${found.appId}/imports/${found.importId}">${found.appName}</a>`
  return html`<ul class="cards figures">
    ${importTile('queued', active.queued, oldest(oldestWaiting))}
    ${oldestHeld && importTile('held', active.held, oldest(oldestHeld))}
    ${importTile('processing', active.processing, html`${count(Math.round(rate))} rows/s`)}
    ${importTile('awaiting_upload', active.awaiting_upload)}
    ${tile(html`<a href="#workers" aria-label="Workers alive: ${count(alive)}">${count(alive)}</a>`, 'Workers alive', alive === 0 && 'bad')}
    ${(['completed', 'failed', ...others] as const).map((state) => endedTile(state, ended[state]))}
  </ul>`
}

/** Renders the number of imports that have not ended, by state, with a link to them. */
function importTile(state: ImportState, imports = 0, more?: Html): Html {
  return tile(importsLink(state, imports, `/imports?state=${state}`), stateName(state), false, more)
}

/** Renders the number of imports that ended within 24 hours, by state, with a link to them. */
function endedTile(state: ImportState, imports = 0): Html {
  const link = importsLink(state, imports, recentAddress(state))
  return tile(link, stateName(state), imports > 0 && state === 'failed' && 'bad', html`in 24 hours`)
}

function importsLink(state: ImportState, imports: number, address: string): Html {
  return html`<a href="${address}" aria-label="${stateName(state)}: ${count(imports)}">${count(imports)}</a>`
}

/** Returns the address of the imports that ended in a state within 24 hours. */
function recentAddress(state: ImportState): string {
  return `/imports?state=${state}&ended=24h`
}

function tile(figure: Html, name: string, tone: string | false = false, more?: Html): Html {
  return html`<li class="tile ${tone}"><span class="figure">${figure}</span><span class="name">${name}</span>${more && html`<span class="name">${more}</span>`}</li>`
}

function workerTable(workers: readonly AliveWorker[]): Html {
  if (workers.length === 0) return html`<p class="card">No worker was alive within the last hour.</p>`
  const doing = ({ imports, isLost }: AliveWorker) => {
    // Another worker continues what a lost one had.
    if (isLost) return '–'
    if (imports.length === 0) return 'idle'
    return html`<ul class="plain">${imports.map(
      ({ appId, appName, importId, rowsTotal }) =>
        html`<li><a href="/apps/${appId}/imports/${importId}">${appName}</a>, ${counted(rowsTotal, 'row')} so far</li>`,
    )}</ul>`
  }
  return html`<div class="scroll" tabindex="0" role="region" aria-labelledby="workers"><table>
    <thead><tr><th scope="col">Worker</th><th scope="col">State</th><th scope="col">Working on</th><th scope="col">Queues</th><th scope="col">Since</th></tr></thead>
    <tbody>${workers.map(
      (worker) => html`<tr>
        <th scope="row">${worker.host} <span class="hint">process ${String(worker.pid)}</span></th>
        <td>${worker.isLost ? html`<span class="badge warn">lost</span> last seen ${time(worker.seenAt, 'distance')}` : html`<span class="badge good">alive</span>`}</td>
        <td>${doing(worker)}</td>
        <td>${worker.queues.join(', ')}</td>
        <td>${time(worker.startedAt)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`
}

function pauseSection(request: FastifyRequest, { ofAll, ofApps }: Pauses): Html {
  const row = (pause: PausedApp & KnownPause) =>
    html`<li><a href="/apps/${pause.appId}/operation">${pause.appName}</a>, paused${pausedBy(pause)}</li>`
  return html`<section class="card" aria-labelledby="pauses"><h2 id="pauses">Pauses</h2>
    ${
      ofAll === undefined
        ? html`<p>The imports of all apps run${ofApps.length > 0 ? ', except those of:' : '.'}</p>`
        : html`<p class="notice warn"><strong>The imports of all apps are paused</strong>${pausedBy(ofAll)}.${ofApps.length > 0 && ' These apps are also paused individually:'}</p>`
    }
    ${ofApps.length > 0 && html`<ul>${ofApps.map(row)}</ul>`}
    ${pauseButton(request, '/queues', ofAll !== undefined, 'the imports of all apps')}
  </section>`
}

function failureTable({ failures, ended }: ImportOverview): Html {
  if (failures.length === 0) return html`<p class="card">None.</p>`
  const row = ({ appId, appName, importId, error, failedAt }: Failure) => html`<tr>
    <td>${time(failedAt, 'distance')}</td>
    <th scope="row"><a href="/apps/${appId}/imports/${importId}">${appName}</a></th>
    <td class="as-is">${error}</td>
  </tr>`
  const more = (ended.failed ?? 0) - failures.length
  return html`<div class="scroll" tabindex="0" role="region" aria-labelledby="failures"><table>
      <thead><tr><th scope="col">When</th><th scope="col">App</th><th scope="col">Why</th></tr></thead>
      <tbody>${failures.map(row)}</tbody>
    </table></div>
    ${more > 0 && html`<p><a href="${recentAddress('failed')}">And ${count(more)} more</a></p>`}`
}
