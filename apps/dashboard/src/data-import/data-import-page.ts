import { type ImportDefaults, importDefaults } from '@sluice/accounts'
import { limits } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { type Html, html } from '@sluice/html'
import { type RegisteredKey, registeredKeys } from '@sluice/profiles'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { heldLink } from '../imports/one-import.ts'
import { sendPage } from '../layout/page.ts'
import { holdIfFields } from './hold-if-fields.ts'
import { keepChangesBox, readKeepChanges } from './keep-changes-field.ts'

const megabytes = limits.uploadBytesDashboard / 2 ** 20

/** The registered keys of an app, and what its imports do unless the form says otherwise. */
interface AppRules {
  keys: ReadonlyMap<string, RegisteredKey>
  defaults: ImportDefaults
}

export async function importRules(db: Database, appId: number): Promise<AppRules> {
  const [keys, defaults] = await Promise.all([registeredKeys(db, appId), importDefaults(db, appId)])
  return { keys, defaults }
}

/** Why the last file was refused, and what was typed with it, if the form was read. */
interface Refused {
  problem: string
  held?: string | undefined
  typed?: URLSearchParams | undefined
}

/** Answers with the page that accepts a file. */
export function sendDataImport(
  reply: FastifyReply,
  appId: number,
  { keys, defaults }: AppRules,
  refused?: Refused,
): FastifyReply {
  const address = `/apps/${appId}/data-import`
  const types = Object.fromEntries([...keys].map(([key, { type, enabled }]) => [key, enabled ? type : 'disabled']))
  return sendPage(reply, {
    title: 'Data import',
    area: 'data-import',
    scripts: ['data-import.ts'],
    content: html`
      ${refused && html`<p class="notice bad" role="alert">${refused.problem}${heldLink(refused.held)}</p>`}
      <form id="upload" method="post" action="${address}" enctype="multipart/form-data" data-upload data-step
        data-limit="${limits.uploadBytesDashboard}" data-keys="${JSON.stringify(types)}" data-new-keys="${defaults.new_keys}">
        ${formTokenField(reply.request)}
        <input type="hidden" name="byte_size">
        <input type="hidden" name="profile_types">
        ${moreOptions(defaults, refused?.typed)}
        <section class="card" aria-labelledby="file">
          <h2 id="file">File</h2>
          <div class="drop" data-drop>
            <label>A CSV file of at most ${megabytes} MB, plain or compressed with gzip
              <input type="file" name="file" required accept=".csv,.gz,text/csv,application/gzip">
            </label>
            <p class="hint" data-drop-hint hidden>Or drop it here.</p>
          </div>
          <p class="hint">The first row names the columns, and one column has the IDs of the users. Each value is stored in the profile of
            the row’s user, under the key of its column. An empty or missing value changes nothing.</p>
          <noscript><p class="hint">One column must be named <code>user_id</code>. The file must be in UTF-8, with commas between the values.
            With JavaScript, this page also converts files as spreadsheets write them.</p></noscript>
        </section>
      </form>
      <div data-reading data-step></div>
      <div data-columns data-step></div>
      ${sendBar(`${address}/dry-run`)}`,
  })
}

/**
 * The options that few files need. The server reads only the fields that precede the file, so they stand above it. The
 * script moves them below the columns.
 */
const moreOptions = (
  defaults: ImportDefaults,
  typed: URLSearchParams | undefined,
) => html`<details class="card" data-options data-step${typed && html` open`}>
  <summary>More options</summary>
  <label class="narrow">Text of cells that remove a value
    <input type="text" name="clear_marker" form="upload" maxlength="${limits.clearMarkerLength}" placeholder="#N/A" autocomplete="off" value="${typed?.get('clear_marker')}">
  </label>
  ${keepChangesBox((typed && readKeepChanges(typed)) ?? defaults.keep_changes, 'upload')}
  ${holdIfFields(typed ?? defaults.hold_if, 'upload')}
</details>`

/** Renders the buttons that send the file, and what the script says about the file, which stay in view. */
function sendBar(dryRunAddress: string): Html {
  return html`<div class="send">
    <div role="status" data-offer></div>
    <div id="outcome">
      <p role="status" data-summary></p>
      <div role="status"><ul data-refusals></ul></div>
      <p class="problem" role="alert" data-problem hidden></p>
    </div>
    <p class="actions">
      <button class="main" form="upload" aria-describedby="outcome" data-send>Import</button>
      <button form="upload" formaction="${dryRunAddress}" aria-describedby="outcome" data-send>Dry run</button>
      <span class="hint">A dry run checks the whole file and applies nothing.</span>
    </p>
    <div data-sending hidden>
      <div class="progress"><progress max="100" value="0" aria-label="Upload"></progress><span data-percent></span></div>
      <p class="actions"><span data-status></span><button type="button" data-stop>Stop</button></p>
      <p class="unseen" role="status" data-announced></p>
    </div>
  </div>`
}
