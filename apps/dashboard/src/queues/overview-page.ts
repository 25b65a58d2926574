import { type Html, html } from '@sluice/html'
import type { AliveWorker, Failure, ImportOverview, PausedApp } from '@sluice/operations'
import type { FastifyRequest } from 'fastify'
import { count, counted, duration, time } from '../layout/format.ts'
import { pauseButton } from '../operation/operation-page.ts'
import { barChart } from './bar-chart.ts'
import { type Concern, concerns } from './concerns.ts'
import { historyCharts } from './history-charts.ts'
import type { Overview } from './overview.ts'
import { runbookAddress } from './runbook.ts'

/** Renders the overview: first the problems, then the figures, then their details. */
export function overviewContent(request: FastifyRequest, overview: Overview): Html {
  const { imports, workers, rows, period, history } = overview
  return html`<div data-refresh="5000" aria-live="off">
    ${verdict(overview)}
    ${figures(overview)}
    <section aria-labelledby="throughput"><h2 id="throughput">Rows per second, last hour</h2>${throughputChart(rows)}</section>
    ${historyCharts(period, history)}
    <section aria-labelledby="workers"><h2 id="workers">Workers</h2>${workerTable(workers)}</section>
    <section aria-labelledby="failures"><h2 id="failures">Failed imports, last 24 hours</h2>${failureTable(imports)}</section>
    </div>
    ${pauses(request, imports)}
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
  if (found.length === 0) return html`<p class="notice good"><strong>All is well.</strong></p>`
  const tone = found.some(({ isGrave }) => isGrave) ? 'bad' : 'warn'
  return html`<div class="notice ${tone}">${found.map(concernPart)}</div>`
}

/** Renders what is wrong, since when, and what to do. */
function concernPart({ text, since, advice, runbook }: Concern): Html {
  return html`<div class="concern">
    <p><strong>${text}</strong>${since && html` Since ${time(since)}.`}</p>
    <p>${advice}${runbook !== undefined && html` <a href="${runbookAddress(runbook)}">Runbook: ${runbook}</a>`}</p>
  </div>`
}

function figures({ imports: { active, ended, oldestWaiting }, workers, rows, now }: Overview): Html {
  const alive = workers.filter(({ isLost }) => !isLost).length
  // The current minute is incomplete, so the rate is from the two preceding minutes.
  const recent = rows.slice(-3, -1)
  const rate = recent.reduce((sum, minute) => sum + minute.rows, 0) / Math.max(1, recent.length * 60)
  const failed = ended.failed ?? 0
  return html`<ul class="cards figures">
    ${tile('queued', count(active.queued ?? 0), oldestWaiting && html`oldest: ${duration(Math.max(0, now.getTime() - oldestWaiting.since.getTime()))}, <a href="/apps/${oldestWaiting.appId}/imports/${oldestWaiting.importId}">${oldestWaiting.appName}</a>`)}
    ${tile('running', count(active.processing ?? 0), html`${count(Math.round(rate))} rows/s`)}
    ${tile('awaiting upload', count(active.awaiting_upload ?? 0))}
    ${tile(alive === 1 ? 'worker alive' : 'workers alive', count(alive), undefined, alive === 0 && 'bad')}
    ${tile('completed in 24 h', count(ended.completed ?? 0))}
    ${tile('failed in 24 h', count(failed), undefined, failed > 0 && 'bad')}
    ${Object.entries(ended)
      .filter(([state]) => state !== 'completed' && state !== 'failed')
      .map(([state, imports]) => tile(`${state} in 24 h`, count(imports)))}
  </ul>`
}

function tile(name: string, figure: string, more?: Html, tone: string | false = false): Html {
  return html`<li class="tile ${tone}"><span class="figure">${figure}</span><span class="name">${name}</span>${more && html`<span class="name">${more}</span>`}</li>`
}

function workerTable(workers: readonly AliveWorker[]): Html {
  if (workers.length === 0) return html`<p class="card">No worker was alive within the last hour.</p>`
  const doing = ({ imports, isLost }: AliveWorker) => {
    if (imports.length === 0) return isLost ? '–' : 'idle'
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
        <td>${worker.isLost ? html`<span class="mark bad">lost</span> last seen ${time(worker.seenAt, 'distance')}` : html`<span class="mark good">alive</span>`}</td>
        <td>${doing(worker)}</td>
        <td>${worker.queues.join(', ')}</td>
        <td>${time(worker.startedAt)}</td>
      </tr>`,
    )}</tbody>
  </table></div>`
}

function pauses(request: FastifyRequest, { allPausedSince, pausedApps }: ImportOverview): Html {
  const row = ({ appId, appName, since }: PausedApp) =>
    html`<li><a href="/apps/${appId}/operation">${appName}</a>, since ${time(since)}</li>`
  return html`<section aria-labelledby="pauses"><h2 id="pauses">Pauses</h2>
    <div class="card">
      ${allPausedSince === undefined ? html`<p>The imports of all apps run${pausedApps.length > 0 && ', except those of:'}</p>` : html`<p><strong>The imports of all apps are paused</strong> since ${time(allPausedSince)}.${pausedApps.length > 0 && ' Paused themselves:'}</p>`}
      ${pausedApps.length > 0 && html`<ul>${pausedApps.map(row)}</ul>`}
      <p class="hint">While imports are paused, a running import is released after its current batch. Requests and uploads are accepted.</p>
      ${pauseButton(request, '/queues', allPausedSince !== undefined, 'the imports of all apps')}
    </div>
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
    ${more > 0 && html`<p class="hint">And ${count(more)} more.</p>`}`
}
