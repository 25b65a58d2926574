import { setTimeout as delay } from 'node:timers/promises'
import { createApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { registerUsers } from '@sluice/profiles'
import { bulkImport, declare, put, type RequestedImport, requestImport } from '../../stack/client.ts'
import type { Deployment } from './deployment.ts'
import { type GeneratedFile, generatedUsers } from './generate.ts'

/** An app, and the files that its client has uploaded so far. */
export interface ClientApp {
  appId: number
  token: string
  /** Addresses of two members. Mails to the first arrive; the mail server rejects the second permanently. */
  emails: readonly [string, string]
  /** The values that the first user has before any upload. */
  firstProfile: Readonly<Record<string, string>>
  files: Map<string, GeneratedFile>
}

/** How long a client waits for one answer, ms, and how many attempts it makes for one request. */
const answerTimeoutMs = 5_000
const attempts = 200

/** Values of a profile that is as large as the limits allow, beside the keys of {@link generatedUsers}' files. */
export const largestProfile = Object.fromEntries(
  Array.from({ length: 490 }, (_, number) => [`key ${number} `.padEnd(255, 'k'), `${number}`.padEnd(255, 'é')]),
)

/** Creates an app with the users of {@link generatedUsers}, of which the first may already have a profile. */
export async function openClientApp(
  { db }: Pick<Deployment, 'db'>,
  profile: ClientApp['firstProfile'] = {},
): Promise<ClientApp> {
  const name = crypto.randomUUID()
  const emails = [`${name}@example.com`, `rejected-${name}@example.com`] as const
  const { appId, apiToken } = await createApp(db, { name, email: emails[0] })
  await db.insertInto('members').values({ app_id: appId, email: emails[1] }).execute()
  await registerUsers(db, appId, generatedUsers)
  const keys = Object.keys(profile).map((key) => ({ app_id: appId, key, type: 'string' as const }))
  if (keys.length > 0) {
    await db.insertInto('profile_keys').values(keys).execute()
    const [user = ''] = generatedUsers
    await db
      .insertInto('profiles')
      .values({
        app_id: appId,
        user_id: user,
        attributes: sql`hstore(${Object.keys(profile)}::text[], ${Object.values(profile)}::text[])`,
      })
      .execute()
  }
  return { appId, token: apiToken, emails, firstProfile: profile, files: new Map() }
}

/** Makes the first request, and repeats it until it succeeds. A lost answer leaves an import that nobody uploads to. */
export function request(
  { api }: Pick<Deployment, 'api'>,
  { token }: ClientApp,
  { bytes, contentType, dryRun }: GeneratedFile,
): Promise<RequestedImport> {
  const declaration = { ...declare(bytes, contentType), ...(dryRun && { dry_run: true }) }
  return retry('the first request', () => requestImport(api, token, declaration, AbortSignal.timeout(answerTimeoutMs)))
}

/** Uploads the file, and repeats the upload until it succeeds. */
export async function send(app: ClientApp, { importId, url, headers }: RequestedImport, file: GeneratedFile) {
  app.files.set(importId, file)
  await retry('the upload', async () => {
    const { status, code } = await put(url, headers, file.bytes, AbortSignal.timeout(answerTimeoutMs))
    if (status !== 200) throw new Error(`${status}: ${code}`)
  })
}

/** Makes the first request and uploads the file. Returns the import ID. */
export async function upload(
  deployment: Pick<Deployment, 'api'>,
  app: ClientApp,
  file: GeneratedFile,
): Promise<string> {
  const requested = await request(deployment, app, file)
  await send(app, requested, file)
  return requested.importId
}

/** Cancels an import, and repeats the request until it is answered. Returns false if the import had already ended. */
export function cancel({ api }: Pick<Deployment, 'api'>, app: ClientApp, importId: string): Promise<boolean> {
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

/** Repeats an attempt until it succeeds. Throws after {@link attempts} failures, with the last error as the cause. */
export async function retry<Result>(what: string, tryOnce: () => Promise<Result>): Promise<Result> {
  for (let number = 1; ; number++) {
    try {
      return await tryOnce()
    } catch (error) {
      if (number === attempts) throw new Error(`${what} never succeeded`, { cause: error })
      await delay(200)
    }
  }
}
