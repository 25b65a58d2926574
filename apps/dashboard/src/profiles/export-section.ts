import type { ExportView } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { bytes, count, time } from '../layout/format.ts'

/** The ID of the form that requests an export. The table of keys has its ticks. */
export const exportForm = 'export'

/** A refresh reads the whole page, with the statistics of the keys. Exports of small apps take seconds. */
const refreshMs = 5_000

const states: Readonly<Record<ExportView['state'], Html>> = {
  queued: html`<span class="badge">Queued</span>`,
  processing: html`<span class="badge busy">Running</span>`,
  completed: html`<span class="badge good">Completed</span>`,
  failed: html`<span class="badge bad">Failed</span>`,
}

/** Renders the form that requests an export, and the exports whose files are stored. */
export function exportSection(request: FastifyRequest, exports: readonly ExportView[]): Html {
  const address = `/apps/${visitedApp(request).appId}/profiles/exports`
  return html`<details class="card" id="exports"${exports.length > 0 && html` open`}>
    <summary>Export all profiles</summary>
    <form method="post" action="${address}" id="${exportForm}">
      ${formTokenField(request)}
      <p>The file is a gzip-compressed CSV with a row for each user. It has all keys, or the keys that are ticked in the table below.</p>
      <p><button class="main">Request an export</button></p>
    </form>
    ${exports.length > 0 && table(address, exports)}
  </details>`
}

function table(address: string, exports: readonly ExportView[]): Html {
  const isMoving = exports.some(({ finished_at: finishedAt }) => finishedAt === null)
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Exports" data-refresh="${isMoving ? refreshMs : 0}"><table>
    <thead><tr>
      <th scope="col">Requested</th><th scope="col">State</th><th scope="col" class="number">Users</th>
      <th scope="col" class="number">Size</th><th scope="col">File</th>
    </tr></thead>
    <tbody>${exports.map((each) => row(address, each))}</tbody>
  </table></div>`
}

function row(address: string, { export_id: id, state, error, rows, bytes: size, ...view }: ExportView): Html {
  return html`<tr>
    <td>${time(new Date(view.requested_at))}</td>
    <td class="wrap">${states[state]} ${error}</td>
    <td class="number">${state === 'completed' ? count(rows) : '–'}</td>
    <td class="number">${size > 0 ? bytes(size) : '–'}</td>
    <td>${view.file_url === null ? '–' : html`<a href="${address}/${id}/file">Download</a>`}</td>
  </tr>`
}
