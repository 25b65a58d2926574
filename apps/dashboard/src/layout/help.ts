import { html } from '@sluice/html'
import { visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { type Area, areaNames } from './navigation.ts'
import { sendPage } from './page.ts'

/** What a person who opens the pages of an area needs to know. */
interface Help {
  text: string
  /** Further paragraphs. */
  more?: readonly string[]
  /** The operation of the API's document that does the same. */
  operation?: string
  isForOperators?: true
}

const help: Readonly<Record<Area, Help>> = {
  imports: {
    text: 'An import applies a file to the profiles. The imports of an app run one after the other, in the order of their requests. A row with an error is not applied, and the error file contains it. Correct that file and import it: its column SERVICE_ERRORS is ignored.',
    more: [
      'A dry run applies nothing, and counts what the import would change for each key. With “Keep what each row changes”, its page also shows the first values before and after, and its changes file has all of them.',
      'An import is held if a file has more errors, changes or new keys than you allow on the Settings page or for the file. Nothing is applied until somebody approves it, and later imports of the app wait. Unapproved, it fails at the time that its page names.',
      'An import that kept what its rows changed can be undone: each value becomes what it was before, unless it changed since. Keys stay registered.',
    ],
    operation: 'getImport',
  },
  'data-import': {
    text: 'A file needs a column with the user IDs. Each other column is a profile key. An empty cell leaves a value unchanged. The type of a key is permanent, so check a file with new columns by a dry run: it applies nothing.',
    more: [
      'If a column has decimal commas, dates or times in another form than ISO 8601, choose the form, and your browser converts the values before it sends the file. A time without an offset is in UTC unless you choose another one. The error file has the converted values.',
    ],
    operation: 'requestBulkImport',
  },
  profiles: {
    text: 'A profile has one value for each key. An export is a file of all users, and importing it again changes nothing. A deletion request deletes users with everything that is stored about them, and cannot be cancelled.',
    operation: 'requestExport',
  },
  deletions: {
    text: 'A deletion starts six days after its request, and completes on the 7th of the month that follows the start. From the start on, its users are excluded from campaigns. When it completes, the users, their profiles and the stored files of earlier imports and exports are removed.',
    operation: 'requestDeletion',
  },
  credentials: {
    text: 'Programs send the API token with each request. A new token replaces the old one at once. An access key is for S3 programs: each file that they upload to the path of the app becomes an import.',
  },
  webhooks: {
    text: 'A webhook tells your server that an import or an export has ended, or that a deletion has completed. Your server checks its signature with the secret of the endpoint. A delivery that fails is sent again for three days.',
  },
  settings: {
    text: 'Each member sees everything in the app. Choose which members get mails about imports and deletions, and what happens to columns that are no registered keys.',
  },
  'audit-log': {
    text: 'The log says who did what, when, and with which outcome. It contains no profile values and no user IDs. The days in the filters begin at midnight UTC.',
  },
  operation: {
    text: 'A pause releases running imports of the app after their current batch, and they continue after it. Limits of an app replace the settings of the deployment.',
    isForOperators: true,
  },
  apps: { text: 'The list has the apps whose pages you may see.' },
  'all-imports': {
    text: 'The list has the imports of all apps. Filters that are set together narrow it.',
    isForOperators: true,
  },
  queues: {
    text: 'Problems are at the top. Each problem has a first step. The runbook has further steps. A number of imports leads to their list.',
    isForOperators: true,
  },
  'all-audit-log': {
    text: 'The log has the entries of all apps and of the whole service.',
    isForOperators: true,
  },
}

/** Adds the page to which the link Help of each page leads, and the way to the API's own document. */
export const helpRoutes: PageRoutes = (dashboard, { apiUrl }) => {
  dashboard.get('/help', async (request, reply) => {
    const { isOperator } = visitorOf(request)
    const areas = (Object.entries(help) as [Area, Help][]).filter(
      ([, each]) => isOperator || each.isForOperators !== true,
    )
    const section = ([area, { text, more = [], operation }]: [
      Area,
      Help,
    ]) => html`<h2 id="${area}">${areaNames[area]}</h2>
      <p>${text}${operation !== undefined && html` <a href="/help/api#${operation}">In the API</a>`}</p>
      ${more.map((paragraph) => html`<p>${paragraph}</p>`)}`
    return sendPage(reply, { title: 'Help', content: html`<div class="card prose">${areas.map(section)}</div>` })
  })

  // Pages have no addresses of other hosts. The browser keeps the part after `#`.
  dashboard.get('/help/api', async (_, reply) => reply.redirect(`${apiUrl}/docs`, 303))
}
