import { createHash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '@sluice/accounts'
import type { UploadDescriptor } from '@sluice/contract'
import { registerUsers } from '@sluice/profiles'
import { bulkImport } from '../../stack/client.ts'
import type { Deployment } from './deployment.ts'
import { type GeneratedFile, generatedUsers } from './generate.ts'

/** An app, and what its owner has asked for so far. */
export interface ClientApp {
  appId: number
  token: string
  /** Members: the first one's mails arrive, the second one's mail server refuses them for good. */
  emails: readonly [string, string]
  /** The files that were uploaded, by import. */
  files: Map<string, GeneratedFile>
}

/** How long a client waits for one answer, ms, and how often it tries. */
const answerTimeoutMs = 5_000
const attempts = 200

/** A new app with the users of {@link generatedUsers}. */
export async function openClientApp({ db }: Deployment): Promise<ClientApp> {
  const name = crypto.randomUUID()
  const emails = [`${name}@example.com`, `rejected-${name}@example.com`] as const
  const { appId, apiToken } = await createApp(db, { name, email: emails[0] })
  await db.insertInto('members').values({ app_id: appId, email: emails[1] }).execute()
  await registerUsers(db, appId, generatedUsers)
  return { appId, token: apiToken, emails, files: new Map() }
}

/** An import that has its place in the line. */
export interface Requested {
  importId: string
  descriptor: UploadDescriptor
}

/** Makes the first request, as often as it takes. An answer that is lost leaves an import that nobody uploads to. */
export function request(
  { api }: Deployment,
  app: ClientApp,
  { bytes, contentType }: GeneratedFile,
): Promise<Requested> {
  const checksum = createHash('md5').update(bytes).digest('base64')
  const body = JSON.stringify({ checksum, byte_size: String(bytes.length), content_type: contentType })
  return retry('the first request', async () => {
    const response = await fetch(api + bulkImport, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Service-Token': app.token },
      body,
      signal: AbortSignal.timeout(answerTimeoutMs),
    })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
    return {
      importId: response.headers.get('x-import-id') ?? '',
      descriptor: (await response.json()) as UploadDescriptor,
    }
  })
}

/** Uploads the file, as often as it takes. */
export async function send(app: ClientApp, { importId, descriptor }: Requested, file: GeneratedFile): Promise<void> {
  app.files.set(importId, file)
  const { url, headers } = descriptor.direct_upload
  await retry('the upload', async () => {
    const body = new Uint8Array(file.bytes)
    const response = await fetch(url, { method: 'PUT', headers, body, signal: AbortSignal.timeout(answerTimeoutMs) })
    if (!response.ok) throw new Error(`${response.status}: ${await response.text()}`)
  })
}

/** Both requests, one after the other. Gives the import's ID. */
export async function upload(deployment: Deployment, app: ClientApp, file: GeneratedFile): Promise<string> {
  const requested = await request(deployment, app, file)
  await send(app, requested, file)
  return requested.importId
}

/** Cancels an import, as often as it takes. Gives whether it came before its end. */
export function cancel({ api }: Deployment, app: ClientApp, importId: string): Promise<boolean> {
  return retry('the cancellation', async () => {
    const response = await fetch(`${api}${bulkImport}/${importId}`, {
      method: 'DELETE',
      headers: { 'X-Service-Token': app.token },
      signal: AbortSignal.timeout(answerTimeoutMs),
    })
    if (!response.ok && response.status !== 409) throw new Error(`${response.status}: ${await response.text()}`)
    return response.ok
  })
}

/** Tries until it works. Throws the last error where it never does. */
export async function retry<Result>(what: string, attempt: () => Promise<Result>): Promise<Result> {
  for (let number = 1; ; number++) {
    try {
      return await attempt()
    } catch (error) {
      if (number === attempts) throw new Error(`${what} never worked`, { cause: error })
      await delay(200)
    }
  }
}
