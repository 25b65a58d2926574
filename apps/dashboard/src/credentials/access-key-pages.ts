import type { AccessKey, NewAccessKey } from '@sluice/access-keys'
import { limits } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { bytes, time } from '../layout/format.ts'
import { type GatewayAddress, type KeyPair, placeholders, uploadCommands } from './upload-commands.ts'

/** Renders the address for S3 clients, the app's access keys, and ready-made commands (service.md, Endpoints 4). */
export function gatewaySection(request: FastifyRequest, address: GatewayAddress, keys: readonly AccessKey[]): Html {
  const { appId } = visitedApp(request)
  return html`<section class="card" aria-labelledby="s3-gateway">
      <h2 id="s3-gateway">Files by S3</h2>
      <p>Upload a file to this path with any S3 client: it becomes an import as soon as the upload is complete. The file name must contain no slash and no white space. The file must be at most ${bytes(limits.bucketBytes)}, and may be compressed with gzip.</p>
      <dl class="facts">
        <dt>Endpoint</dt><dd><code data-copy="endpoint">${address.endpoint}</code></dd>
        <dt>Bucket</dt><dd><code data-copy="bucket">${address.bucket}</code></dd>
        <dt>Path</dt><dd><code data-copy="path">${address.path}</code></dd>
        <dt>Region</dt><dd><code data-copy="region">${address.region}</code></dd>
      </dl>
    </section>
    <section aria-labelledby="access-keys">
      <h2 id="access-keys">Access keys</h2>
      ${keys.length === 0 ? html`<p>There are no access keys yet.</p>` : keyTable(appId, keys)}
      <form method="post" action="/apps/${appId}/credentials/access-keys">
        ${formTokenField(request)}
        <p><button>Create an access key</button></p>
      </form>
    </section>
    ${commandSection(address, placeholders)}`
}

function keyTable(appId: number, keys: readonly AccessKey[]): Html {
  const row = ({ accessKeyId, createdAt, lastUsedAt }: AccessKey) => html`<tr>
    <th scope="row"><code data-copy="access key ID">${accessKeyId}</code></th>
    <td>${time(createdAt)}</td>
    <td>${lastUsedAt === null ? 'never' : time(lastUsedAt)}</td>
    <td><a href="/apps/${appId}/credentials/access-keys/delete?key=${encodeURIComponent(accessKeyId)}">Delete…</a></td>
  </tr>`
  return html`<div class="scroll" tabindex="0" role="region" aria-labelledby="access-keys"><table>
    <thead><tr><th scope="col">Access key ID</th><th scope="col">Created</th><th scope="col">Last used</th><th scope="col">Actions</th></tr></thead>
    <tbody>${keys.map(row)}</tbody>
  </table></div>`
}

function commandSection(address: GatewayAddress, key: KeyPair): Html {
  return html`<section aria-labelledby="commands">
    <h2 id="commands">Commands</h2>
    ${uploadCommands(address, key).map(
      ({ program, command }) => html`<h3 id="command-${program}">${program}</h3>
      <div class="scroll" tabindex="0" role="region" aria-labelledby="command-${program}"><pre class="command" data-copy="command for ${program}">${command}</pre></div>`,
    )}
  </section>`
}

/** Renders a new access key. No other page ever shows the secret. */
export function newAccessKey(appId: number, address: GatewayAddress, key: NewAccessKey): Html {
  return html`<div class="card">
      <p>Copy the secret now: it is shown only once.</p>
      <dl class="facts">
        <dt>Access key ID</dt><dd><code data-copy="access key ID">${key.accessKeyId}</code></dd>
      </dl>
      <p><code class="secret" data-copy="secret access key" tabindex="0" role="textbox" aria-readonly="true" aria-label="Secret access key">${key.secretAccessKey}</code></p>
      <p><a class="button" href="/apps/${appId}/credentials">I have stored it</a></p>
    </div>
    ${commandSection(address, key)}`
}

/** Asks for confirmation, and states the consequences. */
export function confirmDeletion(request: FastifyRequest, accessKeyId: string): Html {
  const { appId, name } = visitedApp(request)
  return html`<div class="notice warn">
      <p><strong><code>${accessKeyId}</code> stops working at once, and cannot be restored.</strong></p>
      <p>Uploads for ${name} with this key are refused. Files that are uploaded completely are still imported.</p>
    </div>
    <div class="actions">
      <form method="post">
        ${formTokenField(request)}
        <input type="hidden" name="key" value="${accessKeyId}">
        <button class="danger">Delete ${accessKeyId}</button>
      </form>
      <a href="/apps/${appId}/credentials">Back</a>
    </div>`
}
