import { type Html, html } from '@sluice/html'
import type { ImportDetails, Wait } from '@sluice/imports'
import { bytes, count, counted, duration, time } from '../layout/format.ts'
import type { Snapshot } from './snapshot.ts'
import { sourceName, stateMark } from './labels.ts'

/** How far an import is and what comes next: the part of its page that moves most. Holds nothing of its visitor. */
export function progressPart(appId: number, snapshot: Snapshot): Html {
  const { details, rowsPerSecond, timeLeft } = snapshot
  const { view, tookMs } = details
  return html`<section class="card">
      <p role="status">${stateMark(view)} ${whatHappens(appId, details)}</p>
      ${view.state === 'processing' && bar(snapshot)}
      <ul class="cards figures">
        ${tile('Rows read', count(view.rows_total))}
        ${view.dry_run ? tile('Rows without errors', count(view.rows_total - view.rows_failed)) : tile('Rows applied', count(view.rows_applied))}
        ${tile('Rows with errors', count(view.rows_failed), view.rows_failed > 0)}
        ${rowsPerSecond !== undefined && tile('Rows a second', count(Math.round(rowsPerSecond)))}
        ${timeLeft !== undefined && tile('Time left, about', duration(Math.max(1000, timeLeft)))}
        ${view.finished_at !== null && tookMs !== null && tile('Took', duration(tookMs))}
      </ul>
      ${facts(details)}
    </section>`
}

function tile(name: string, figure: string, isBad = false): Html {
  return html`<li class="tile${isBad && ' bad'}"><span class="figure">${figure}</span><span class="name">${name}</span></li>`
}

function bar({ details, totalBytes }: Snapshot): Html {
  // The end of a file of several gzip members says too little: then there is no telling.
  if (totalBytes === undefined || details.position > totalBytes || totalBytes === 0) {
    return html`<progress aria-label="Progress"></progress>`
  }
  const percent = Math.floor((details.position / totalBytes) * 100)
  return html`<div class="progress"><progress aria-label="Progress" max="100" value="${percent}"></progress><span>${percent} %</span></div>`
}

function whatHappens(appId: number, details: ImportDetails): Html | undefined {
  const { view, wait } = details
  if (wait !== null) return waitText(appId, wait)
  switch (view.state) {
    case 'processing':
      return (view.dry_run && html`The whole file is checked; nothing is applied.`) || undefined
    case 'completed':
      return view.dry_run ? html`The file was only checked: nothing was applied.` : undefined
    case 'failed':
      return html`<strong>${view.error}</strong>. ${whatStays(details)}`
    case 'expired':
      return html`A file that still comes within a day is taken.`
    default:
      return html`${whatStays(details)} ${details.reportDue && 'The error file is being made.'}`
  }
}

function whatStays({ view }: ImportDetails): string {
  if (view.dry_run) return 'The file was only checked: nothing was applied.'
  return view.rows_applied === 0
    ? 'Nothing was applied.'
    : `${counted(view.rows_applied, 'row')} had been applied, and ${view.rows_applied === 1 ? 'stays' : 'stay'} so.`
}

function waitText(appId: number, wait: Wait): Html {
  switch (wait.for) {
    case 'upload':
      return html`The upload has not ended${wait.until && html`; it must begin before ${time(wait.until)}`}.`
    case 'retry':
      return html`Something went wrong that may pass. The next attempt is at ${time(wait.until)}.`
    case 'worker':
      return html`It is next: a worker takes it within seconds, as soon as one is free.`
    case 'order':
      return html`Waits for ${counted(wait.preceding, 'import')} of this app, first for
        <a href="/apps/${appId}/imports/${wait.importId}">${wait.importId.slice(0, 8)}</a>, ${precedingWords[wait.state]}.`
  }
}

const precedingWords = {
  awaiting_upload: 'whose file is still coming; after a while it is not waited for any more',
  queued: 'which is in line',
  processing: 'which is running',
} as const

function facts({ view, byteSize, contentType }: ImportDetails): Html {
  return html`<dl class="facts">
    <dt>Import</dt><dd><code>${view.import_id}</code></dd>
    <dt>Source</dt><dd>${sourceName(view)}${byteSize !== null && `, ${bytes(byteSize)}`}${contentType === 'application/gzip' && ', compressed'}</dd>
    <dt>Requested</dt><dd>${time(new Date(view.requested_at))}</dd>
    ${view.started_at !== null && html`<dt>Started</dt><dd>${time(new Date(view.started_at))}</dd>`}
    ${view.finished_at !== null && html`<dt>Ended</dt><dd>${time(new Date(view.finished_at))}</dd>`}
  </dl>`
}
