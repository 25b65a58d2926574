import { type Html, html } from '@sluice/html'
import type { ImportDetails, Wait } from '@sluice/imports'
import { bytes, count, counted, duration, time } from '../layout/format.ts'
import { hasOnlyErrors, importLink, sourceName, stateBadge } from './labels.ts'
import { percentRead, type Snapshot } from './snapshot.ts'

/** Renders the state and the progress of an import. The result must not depend on the visitor. */
export function progressPart(appId: number, snapshot: Snapshot): Html {
  const { details, rowsPerSecond, timeLeftMs } = snapshot
  const { view, tookMs } = details
  const onlyChecks = view.dry_run || isOnlyChecked(details)
  return html`<section class="card">
      <p role="status">${stateBadge(view)} ${statusText(appId, details)}</p>
      ${view.state === 'processing' && bar(snapshot)}
      <ul class="cards figures">
        ${tile('Rows read', count(view.rows_total))}
        ${
          onlyChecks
            ? tile('Rows without errors', count(view.rows_total - view.rows_failed))
            : [
                tile('Rows applied', count(view.rows_applied)),
                tile('Rows that changed a profile', count(view.rows_changed)),
              ]
        }
        ${tile('Rows with errors', count(view.rows_failed), view.rows_failed > 0)}
        ${rowsPerSecond !== undefined && tile('Rows a second', count(Math.round(rowsPerSecond)))}
        ${timeLeftMs !== undefined && tile('Time left, about', duration(Math.max(1000, timeLeftMs)))}
        ${view.finished_at !== null && tookMs !== null && tile('Took', duration(tookMs))}
      </ul>
      ${facts(appId, snapshot)}
    </section>`
}

function tile(name: string, figure: string, isBad = false): Html {
  return html`<li class="tile${isBad && ' bad'}"><span class="figure">${figure}</span><span class="name">${name}</span></li>`
}

function bar({ details, totalBytes }: Snapshot): Html {
  const percent = percentRead(details.position, totalBytes)
  if (percent === undefined) return html`<progress aria-label="Progress"></progress>`
  return html`<div class="progress"><progress aria-label="Progress" max="100" value="${percent}"></progress><span>${percent} %</span></div>`
}

function statusText(appId: number, details: ImportDetails): Html | undefined {
  const { view, wait } = details
  if (wait !== null) return waitText(appId, wait)
  switch (view.state) {
    case 'processing':
      if (view.dry_run) return html`The whole file is checked; nothing is applied.`
      return isOnlyChecked(details) ? html`The whole file is checked before its first row is applied.` : undefined
    case 'held':
      return html`Nothing is applied until somebody approves it.`
    case 'completed':
      return view.dry_run || hasOnlyErrors(view) ? html`${appliedText(details)}` : undefined
    case 'failed':
      return html`<strong>${view.error}</strong>. ${appliedText(details)}`
    case 'expired':
      return html`A file that still arrives within a day is imported.`
    default:
      return html`${appliedText(details)} ${details.reportDue && 'The error file is being created.'}`
  }
}

/** Whether the counts of an import are those of the check before its first row (changes.md §2). */
function isOnlyChecked({ view, isCheck }: ImportDetails): boolean {
  return isCheck && view.finished_at === null
}

function appliedText({ view }: ImportDetails): string {
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
      return html`A temporary error occurred. The next attempt is at ${time(wait.until)}.`
    case 'resume':
      return html`Imports are paused. It continues when they are resumed.`
    case 'worker':
      return html`It is next in order: a worker takes it within seconds, as soon as one is free.`
    case 'order':
      return html`Waits for ${counted(wait.preceding, 'import')} of this app, first for
        ${importLink(appId, wait.importId)}, ${precedingWords[wait.state]}.`
  }
}

const precedingWords = {
  awaiting_upload: 'whose file has not arrived yet; the wait for it is limited',
  queued: 'which is queued',
  processing: 'which is running',
  held: 'which is held until somebody approves it',
} as const

function facts(appId: number, { details, decisions }: Snapshot): Html {
  const { view, byteSize, contentType, requestedBy, isOfDryRun, undoneBy } = details
  return html`<dl class="facts">
    <dt>Source</dt><dd>${sourceName(view)}${byteSize !== null && `, ${bytes(byteSize)}`}${contentType === 'application/gzip' && ', compressed'}</dd>
    ${view.retry_of !== undefined && html`<dt>${isOfDryRun ? 'Imported from dry run' : 'Retry of'}</dt><dd>${importLink(appId, view.retry_of)}</dd>`}
    ${view.undo_of !== undefined && html`<dt>Undo of</dt><dd>${importLink(appId, view.undo_of)}</dd>`}
    ${undoneBy !== null && html`<dt>Undone by</dt><dd>${importLink(appId, undoneBy)}</dd>`}
    <dt>Requested</dt><dd>${time(new Date(view.requested_at))}${requestedBy !== null && ` by ${requestedBy}`}</dd>
    ${decisions.map(({ what, who, at }) => html`<dt>${what === 'import.approve' ? 'Approved' : 'Cancelled'}</dt><dd>${time(at)} by ${who}</dd>`)}
    ${view.started_at !== null && html`<dt>Started</dt><dd>${time(new Date(view.started_at))}</dd>`}
    ${view.finished_at !== null && html`<dt>Ended</dt><dd>${time(new Date(view.finished_at))}</dd>`}
  </dl>`
}
