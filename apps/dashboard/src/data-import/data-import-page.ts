import { newKeysOf } from '@sluice/accounts'
import { limits, type NewKeys, type ValueType } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { html } from '@sluice/html'
import { registeredKeys } from '@sluice/profiles'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { sendPage } from '../layout/page.ts'

const megabytes = limits.uploadBytesDashboard / 2 ** 20

/** The rules of an app that the preview of a file depends on. */
interface AppRules {
  keys: ReadonlyMap<string, ValueType>
  newKeys: NewKeys
}

/** Returns the rules of an app. */
export async function importRules(db: Database, appId: number): Promise<AppRules> {
  const [keys, newKeys] = await Promise.all([registeredKeys(db, appId), newKeysOf(db, appId)])
  return { keys, newKeys }
}

/** Answers with the page that accepts a file. `problem` is the reason why the last file was refused. */
export function sendDataImport(
  reply: FastifyReply,
  appId: number,
  { keys, newKeys }: AppRules,
  problem?: string,
): FastifyReply {
  const address = `/apps/${appId}/data-import`
  return sendPage(reply, {
    title: 'Data import',
    area: 'data-import',
    scripts: ['data-import.ts'],
    content: html`
      ${problem !== undefined && html`<p class="notice bad" role="alert">${problem}</p>`}
      <form method="post" action="${address}" enctype="multipart/form-data" class="card" data-upload
        data-limit="${limits.uploadBytesDashboard}" data-keys="${JSON.stringify(Object.fromEntries(keys))}" data-new-keys="${newKeys}">
        ${formTokenField(reply.request)}
        <input type="hidden" name="byte_size">
        <input type="hidden" name="profile_types">
        <label class="narrow">Text of cells that remove a value (optional)
          <input type="text" name="clear_marker" maxlength="${limits.clearMarkerLength}" placeholder="#N/A" autocomplete="off">
        </label>
        <div class="drop" data-drop>
          <label>A CSV file of at most ${megabytes} MB, plain or compressed with gzip
            <input type="file" name="file" required accept=".csv,.gz,text/csv,application/gzip">
          </label>
          <p class="hint" data-drop-hint hidden>Or drop it here.</p>
        </div>
        <p class="hint">The first row names the columns. One of them must be <code>user_id</code>. Each value is stored in the profile of
          the row’s user, under the name of its column. An empty value changes nothing. A row may have fewer values than columns: missing
          values count as empty, so their keys stay unchanged.</p>
        <noscript><p class="hint">The file must be in UTF-8, with commas between the values. With JavaScript, this page also converts
          files as spreadsheets write them.</p></noscript>
        <p class="actions">
          <button class="main">Import</button>
          <button formaction="${address}/dry-run">Dry run</button>
          <span class="hint">A dry run checks the whole file and applies nothing.</span>
        </p>
        <div data-sending hidden>
          <div class="progress"><progress max="100" value="0" aria-label="Upload"></progress><span data-percent></span></div>
          <p class="actions"><span role="status" data-status></span><button type="button" data-stop>Stop</button></p>
        </div>
        <p class="problem" role="alert" data-problem hidden></p>
      </form>
      <div data-reading></div>
      <div data-columns></div>
      <section data-preview aria-live="polite"></section>`,
  })
}
