import assert from 'node:assert/strict'
import { createApp } from '@sluice/accounts'
import { buildApi } from '@sluice/api-app/src/api.ts'
import { readSettings } from '@sluice/config'
import { sql } from '@sluice/database'
import { deletionRequestSettings } from '@sluice/deletions'
import { type ImportContext, importSettings, receiveSettings } from '@sluice/imports'
import { openCellRouter } from '@sluice/moves'
import { registerUsers } from '@sluice/profiles'
import type { Storage } from '@sluice/storage'
import { pino } from 'pino'
import { openTestDatabase, storedProfiles, type TestDatabase } from '../environment/database.ts'
import { openTestStorage } from '../environment/storage.ts'

/** The API in this process, on real Postgres and storage, without rate limits. */
export interface TestApi {
  api: ReturnType<typeof buildApi>
  database: TestDatabase
  storage: Storage
  /** What a worker needs to run imports. */
  context: ImportContext
  close(): Promise<void>
}

/** Opens an API; `environment` overrides settings as environment variables do. */
export async function openTestApi(environment: Record<string, string> = {}): Promise<TestApi> {
  const database = await openTestDatabase()
  const storage = openTestStorage()
  const variables = { API_URL: 'http://api.test', ...environment }
  const settings = readSettings(variables, [
    ...deletionRequestSettings,
    ...importSettings,
    ...receiveSettings,
    'API_TRUSTED_PROXIES',
  ])
  const log = pino({ level: 'silent' })
  const { CELL: own, CELLS: addresses } = readSettings(variables, ['CELL', 'CELLS'])
  const cells = openCellRouter({ db: database.db, log }, { own, addresses })
  const services = { db: database.db, storage, settings, log, apiUrl: settings.API_URL }
  const api = buildApi(services, {
    trustedProxies: settings.API_TRUSTED_PROXIES,
    ...(cells && { cells }),
  })
  await api.ready()
  return {
    api,
    database,
    storage,
    context: { db: database.db, storage, settings, log },
    async close() {
      await api.close()
      storage.close()
      await database.close()
    },
  }
}

/** An app and its token. */
export interface App {
  appId: number
  token: string
}

/** Creates an app with these users. */
export async function openApp({ database }: TestApi, users: readonly string[] = []): Promise<App> {
  const { appId, apiToken: token } = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
  await registerUsers(database.db, appId, users)
  return { appId, token }
}

export interface Answer {
  status: number
  headers: Record<string, unknown>
  /** The parsed body if it is JSON, else its text. */
  body: unknown
}

/**
 * Sends a request with JSON headers and, if an app is given, its token. `headers` replace these; undefined removes one.
 */
export async function send(
  { api }: TestApi,
  app: App | undefined,
  path: string,
  body: unknown,
  options: { method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'; headers?: Record<string, string | undefined> } = {},
): Promise<Answer> {
  const headers = {
    'content-type': 'application/json',
    'x-service-token': app?.token,
    ...options.headers,
  }
  const answer = await api.inject({
    method: options.method ?? 'POST',
    url: path,
    headers: Object.fromEntries(Object.entries(headers).filter((header) => header[1] !== undefined)),
    ...(body !== undefined && {
      payload: Buffer.isBuffer(body) || typeof body === 'string' ? body : JSON.stringify(body),
    }),
  })
  const isJson = String(answer.headers['content-type']).startsWith('application/json')
  return { status: answer.statusCode, headers: answer.headers, body: isJson ? answer.json() : answer.body }
}

/** Returns everything in the database that a request could change, as one comparable value. */
export async function everything({ database }: TestApi): Promise<unknown> {
  const { rows } = await sql`
    select
      (select json_agg(u order by app_id, user_id) from users u) as users,
      (select json_agg(p order by app_id, user_id) from profiles p) as profiles,
      (select json_agg(k order by app_id, key) from profile_keys k) as profile_keys,
      (select json_agg(i order by app_id, import_id) from imports i) as imports,
      (select json_agg(e order by app_id, export_id) from exports e) as exports,
      (select json_agg(t order by app_id) from api_tokens t) as api_tokens,
      (select json_agg(d order by d::text) from deletion_requests d) as deletion_requests,
      (select json_agg(m order by app_id, mail_id) from mails m) as mails
  `.execute(database.db)
  return rows[0]
}

/** Returns a user's profile as it is stored. */
export async function profileOf({ database }: TestApi, { appId }: App, userId: string): Promise<unknown> {
  const profile = (await storedProfiles(database, appId))[userId]
  assert(profile !== undefined, `${userId} is not registered`)
  return profile
}
