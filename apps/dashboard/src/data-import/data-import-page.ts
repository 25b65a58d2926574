import { limits, type ValueType } from '@sluice/contract'
import { html } from '@sluice/html'
import type { FastifyReply } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { sendPage } from '../layout/page.ts'

const megabytes = limits.uploadBytesDashboard / 2 ** 20

/** Answers with the page that accepts a file. `problem` is the reason why the last file was refused. */
export function sendDataImport(
  reply: FastifyReply,
  appId: number,
  keys: ReadonlyMap<string, ValueType>,
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
        data-limit="${limits.uploadBytesDashboard}" data-keys="${JSON.stringify(Object.fromEntries(keys))}">
        ${formTokenField(reply.request)}
        <input type="hidden" name="byte_size">
        <div class="drop" data-drop>
          <label>A CSV file of at most ${megabytes} MB, plain or compressed with gzip
            <input type="file" name="file" required accept=".csv,.gz,text/csv,application/gzip">
          </label>
          <p class="hint" data-drop-hint hidden>Or drop it here.</p>
        </div>
        <p class="hint">The first row names the columns. One of them must be <code>user_id</code>. Each value is stored in the profile of
          the row’s user, under the name of its column. An empty value changes nothing. A row may have fewer values than columns: missing
          values count as empty, so their keys stay unchanged.</p>
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
      <section data-preview aria-live="polite"></section>`,
  })
}
