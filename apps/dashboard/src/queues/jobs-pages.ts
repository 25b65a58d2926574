import { type Html, html } from '@sluice/html'
import { type JobState, type JobView, jobStates, type QueueView } from '@sluice/queue'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { count, time } from '../layout/format.ts'

/** The address of the pages about jobs. */
export const jobsAddress = '/queues/jobs'

/** How many jobs a page shows. */
export const jobsPerPage = 50

/** Renders all queues with their numbers of jobs. */
export function queuesContent(request: FastifyRequest, queues: readonly QueueView[]): Html {
  const row = ({ name, isPaused, jobs }: QueueView) => html`<tr>
    <th scope="row">${name}</th>
    <td>${isPaused ? html`<span class="badge bad">paused</span>` : html`<span class="badge good">open</span>`}</td>
    ${jobStates.map((state) => html`<td class="number"><a href="${addressOf(name, state)}" aria-label="${count(jobs[state])} ${state} in ${name}">${count(jobs[state])}</a></td>`)}
    <td><form method="post" action="${jobsAddress}/${name}/${isPaused ? 'resume' : 'pause'}">
      ${formTokenField(request)}
      <button class="${isPaused ? 'main' : 'danger'}">${isPaused ? 'Resume' : 'Pause'} ${name}</button>
    </form></td>
  </tr>`
  return html`<p><a href="/queues">Back to the queues</a></p>
    <div class="scroll" tabindex="0" role="region" aria-label="Queues"><table>
      <thead><tr><th scope="col">Queue</th><th scope="col">State</th>${jobStates.map((state) => html`<th scope="col" class="number">${state}</th>`)}<th scope="col">Actions</th></tr></thead>
      <tbody>${queues.map(row)}</tbody>
    </table></div>
    <p class="hint">A job only names what is to be done. What a queue loses, maintenance adds again. While a queue is paused, workers start none of its jobs:
      with <code>maintenance</code>, nothing else is added either. To pause imports, use the button on the page Queues, which outlasts a loss of the queues.</p>`
}

/** The jobs that a page shows. */
interface JobList {
  name: string
  state: JobState
  /** The place of the first job. */
  from: number
  jobs: readonly JobView[]
}

/** Renders jobs of a queue in one state. */
export function jobsContent(request: FastifyRequest, { name, state, from, jobs }: JobList): Html {
  const hasMore = jobs.length > jobsPerPage
  const shown = jobs.slice(0, jobsPerPage)
  return html`<p><a href="${jobsAddress}">All queues</a></p>
    <nav class="periods" aria-label="State"><ul>${jobStates.map(
      (each) =>
        html`<li><a href="${addressOf(name, each)}"${each === state && html` aria-current="true"`}>${each}</a></li>`,
    )}</ul></nav>
    ${shown.length === 0 ? html`<p class="card">No ${from > 0 && 'further '}job is ${state}.</p>` : jobTable(request, name, state, shown)}
    <p class="actions">
      ${from > 0 && html`<a class="button" href="${addressOf(name, state)}">First</a>`}
      ${hasMore && html`<a class="button" href="${addressOf(name, state, from + jobsPerPage)}">Next</a>`}
    </p>`
}

function addressOf(name: string, state: JobState, from = 0): string {
  return `${jobsAddress}/${name}?state=${state}${from > 0 ? `&from=${from}` : ''}`
}

function jobTable(request: FastifyRequest, name: string, state: JobState, jobs: readonly JobView[]): Html {
  // A running job cannot be removed, and a delayed job belongs to the schedule of maintenance.
  const isRemovable = state === 'waiting'
  const row = ({ id, name: jobName, payload, addedAt, startedAt }: JobView) => html`<tr>
    <th scope="row" class="wrap">${id}</th>
    <td>${jobName}</td>
    <td>${payloadPart(payload)}</td>
    <td>${time(addedAt)}</td>
    <td>${startedAt === undefined ? '–' : time(startedAt)}</td>
    ${
      isRemovable &&
      html`<td><form method="post" action="${jobsAddress}/${name}/remove">
        ${formTokenField(request)}<input type="hidden" name="job" value="${id}">
        <button class="danger" aria-label="Remove ${id}">Remove</button>
      </form></td>`
    }
  </tr>`
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Jobs"><table>
    <thead><tr><th scope="col">Job</th><th scope="col">Task</th><th scope="col">Of</th><th scope="col">Added</th><th scope="col">Started</th>${isRemovable && html`<th scope="col">Actions</th>`}</tr></thead>
    <tbody>${jobs.map(row)}</tbody>
  </table></div>`
}

/** Renders what a job is about: a link to its import, or its IDs. */
function payloadPart(payload: unknown): Html {
  const { appId, importId } = (payload ?? {}) as { appId?: unknown; importId?: unknown }
  if (typeof appId === 'number' && typeof importId === 'string')
    return html`<a href="/apps/${appId}/imports/${importId}">import of app ${appId}</a>`
  return html`<code>${JSON.stringify(payload)}</code>`
}

/** Renders that the jobs cannot be shown. */
export function storeDownContent(): Html {
  return html`<p><a href="/queues">Back to the queues</a></p>
    <p class="notice bad" role="alert"><strong>The store of the queues does not answer</strong> (Redis, or Postgres without Redis). Nothing is lost: maintenance
      adds every job again when it answers. The log of this process has the error.</p>`
}
