import { type Html, html } from '@sluice/html'
import type { ListedImport } from '@sluice/imports'
import type { FastifyReply } from 'fastify'
import { count, duration, time } from '../layout/format.ts'
import { sendPage } from '../layout/page.ts'
import { importName, sourceName, stateMark } from './labels.ts'

/**
 * Answers with a page of an app's imports. `older` is the sequence number from which the next page begins, if there is
 * one.
 */
export function sendList(
  reply: FastifyReply,
  appId: number,
  imports: readonly ListedImport[],
  { older, isFirst, isPaused }: { older: number | undefined; isFirst: boolean; isPaused: boolean },
): FastifyReply {
  const address = `/apps/${appId}/imports`
  return sendPage(reply, {
    title: 'Imports',
    area: 'imports',
    scripts: ['live-import-list.ts'],
    content: html`
      ${isPaused && html`<p class="notice warn"><strong>Imports are paused.</strong> Files can still be uploaded; they are imported when an operator resumes imports.</p>`}
      <p class="actions"><a class="button main" href="/apps/${appId}/data-import">Import a file…</a></p>
      <div data-live-list="${imports.some(({ place }) => place !== null) ? 'moving' : 'still'}">
        ${imports.length === 0 ? html`<p>No ${!isFirst && 'older '}imports.</p>` : table(address, imports)}
      </div>
      <p class="actions">
        ${!isFirst && html`<a class="button" href="${address}">Newest</a>`}
        ${older !== undefined && html`<a class="button" href="${`${address}?before=${older}`}">Older</a>`}
      </p>`,
  })
}

function table(address: string, imports: readonly ListedImport[]): Html {
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Imports"><table>
    <thead><tr>
      <th scope="col">Import</th><th scope="col">State</th><th scope="col">Source</th><th scope="col" class="number">Rows</th>
      <th scope="col" class="number">Errors</th><th scope="col" class="number">Duration</th><th scope="col">Requested</th>
    </tr></thead>
    <tbody>${imports.map((each) => row(address, each))}</tbody>
  </table></div>`
}

function row(address: string, listed: ListedImport): Html {
  const { view, place, tookMs } = listed
  return html`<tr>
    <th scope="row" class="wrap"><a href="${address}/${view.import_id}">${importName(listed)}</a></th>
    <td>${stateMark(view)}${place !== null && view.state !== 'processing' && html` <span class="hint">position ${place}</span>`}</td>
    <td>${sourceName(view)}</td>
    <td class="number">${count(view.rows_total)}</td>
    <td class="number">${view.rows_failed > 0 ? html`<span class="bad-text">${count(view.rows_failed)}</span>` : '0'}</td>
    <td class="number">${tookMs === null ? '–' : duration(tookMs)}</td>
    <td>${time(new Date(view.requested_at))}</td>
  </tr>`
}
