import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { pipeline } from 'node:stream/promises'
import { createApp } from '@sluice/accounts'
import { type ImportView, importView, type UploadDescriptor } from '@sluice/contract'
import { registerUsers } from '@sluice/profiles'
import { until } from '../environment/wait.ts'
import type { StackAccess } from './running-stack.ts'

export const bulkImport = '/v3/user_profiles/bulk_import'

/** An app of a running stack, with its owner's credentials. */
export interface App {
  appId: number
  token: string
  /** E-mail address of the only member. No other app uses it. */
  email: string
}

export async function openApp({ db }: StackAccess, users: readonly string[] = []): Promise<App> {
  const email = `${crypto.randomUUID()}@example.com`
  const { appId, apiToken } = await createApp(db, { name: 'Test', email })
  await registerUsers(db, appId, users)
  return { appId, token: apiToken, email }
}

export interface Declaration {
  checksum: string
  byte_size: string
  content_type?: string
  dry_run?: boolean
}

export function declare(file: Buffer, contentType?: string): Declaration {
  const checksum = createHash('md5').update(file).digest('base64')
  return { checksum, byte_size: String(file.length), ...(contentType !== undefined && { content_type: contentType }) }
}

/** Sends a first request with any body. `headers` are added to the content type. */
export function firstRequest(
  api: string,
  body: unknown,
  headers: Record<string, string>,
  signal: AbortSignal | null = null,
): Promise<Response> {
  return fetch(`${api}${bulkImport}`, {
    signal,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', ...headers },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
}

export interface RequestedImport {
  importId: string
  url: string
  headers: Record<string, string>
}

/** Makes the first request for a file. Throws if it is refused. */
export async function requestImport(
  api: string,
  token: string,
  declaration: Declaration,
  signal?: AbortSignal,
): Promise<RequestedImport> {
  const response = await firstRequest(api, declaration, { 'X-Service-Token': token }, signal)
  assert.equal(response.status, 200, 'status of the first request')
  const { direct_upload: upload } = (await response.json()) as UploadDescriptor
  return { importId: response.headers.get('x-import-id') ?? '', url: upload.url, headers: upload.headers }
}

/** Sets the attribute `age` of a user by a profile update. Returns the status and the text of the answer. */
export async function updateAge(
  api: string,
  token: string,
  { user, age }: { user: string; age: number },
  signal: AbortSignal | null = null,
): Promise<{ status: number; text: string }> {
  const response = await fetch(`${api}/v2/user_profiles`, {
    signal,
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Service-Token': token },
    body: JSON.stringify({ user_id: user, user_profiles: [{ key: 'age', type: 'int', value: age }] }),
  })
  return { status: response.status, text: await response.text() }
}

/** An answer of storage. */
export interface StorageAnswer {
  status: number
  /** The error code in the XML of the answer, such as `BadDigest`. */
  code: string | undefined
}

/**
 * Sends a PUT with exactly these headers, plus `Host` and, for a buffer, `Content-Length`. For a stream, `headers` must
 * contain `Content-Length`.
 */
export async function put(
  url: string,
  headers: Record<string, string | number>,
  body: Buffer | Readable,
  signal?: AbortSignal,
): Promise<StorageAnswer> {
  const length = Buffer.isBuffer(body) ? { 'Content-Length': body.length } : {}
  const sending = request(url, { method: 'PUT', headers: { ...length, ...headers }, ...(signal && { signal }) })
  const answered = once(sending, 'response')
  // Storage may answer and close the connection before it has read the body. The answer then contains the reason.
  pipeline(Buffer.isBuffer(body) ? Readable.from([body]) : body, sending).catch(() => {})
  const [response] = (await answered) as [IncomingMessage]
  const xml = await text(response)
  return { status: response.statusCode ?? 0, code: /<Code>(\w+)<\/Code>/.exec(xml)?.[1] }
}

/** Uploads a file with both requests. Returns the import ID. */
export async function upload(
  api: string,
  token: string,
  file: Buffer,
  contentType?: string,
  options: Pick<Declaration, 'dry_run'> = {},
): Promise<string> {
  const { importId, url, headers } = await requestImport(api, token, { ...declare(file, contentType), ...options })
  assert.deepEqual(await put(url, headers, file), { status: 200, code: undefined }, 'answer of storage')
  return importId
}

export async function statusOf(api: string, token: string, importId: string): Promise<ImportView> {
  const response = await fetch(`${api}${bulkImport}/${importId}`, { headers: { 'X-Service-Token': token } })
  assert.equal(response.status, 200, `status of GET ${importId}`)
  return importView.parse(await response.json())
}

/** Waits for the end of an import. Returns its status. */
export async function ended(api: string, token: string, importId: string, timeoutMs = 60_000): Promise<ImportView> {
  return await until(
    `the end of import ${importId}`,
    async () => {
      const view = await statusOf(api, token, importId)
      return view.finished_at !== null && view
    },
    timeoutMs,
  )
}

export async function download(link: string): Promise<Buffer> {
  const response = await fetch(link)
  assert.equal(response.status, 200, `status of ${link}`)
  return Buffer.from(await response.arrayBuffer())
}
