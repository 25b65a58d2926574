import { gunzipSync, gzipSync } from 'node:zlib'
import { createApp } from '@sluice/accounts'
import { readSettings } from '@sluice/config'
import type { ImportView } from '@sluice/contract'
import { type ExportContext, exportSettings } from '@sluice/exports'
import {
  type ClaimedImport,
  claimImport,
  type GivenOptions,
  type ImportContext,
  importSettings,
  runImport,
  showImport,
} from '@sluice/imports'
import { registerKeys, registerUsers } from '@sluice/profiles'
import type { Storage } from '@sluice/storage'
import { pino } from 'pino'
import { openTestDatabase, storedProfiles, type TestDatabase } from '../environment/database.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { openTestStorage } from '../environment/storage.ts'

/** Runs imports in this process, against real Postgres and real storage, without queue and API. */
export interface ImportFixture {
  context: ImportContext & ExportContext
  database: TestDatabase
  storage: Storage
  close(): Promise<void>
}

export const fixtureSettings = [...importSettings, ...exportSettings] as const

/** Opens a fixture; `environment` overrides settings as environment variables do. */
export async function openImportFixture(environment: Record<string, string> = {}): Promise<ImportFixture> {
  const database = await openTestDatabase()
  const storage = openTestStorage()
  const settings = readSettings({ API_URL: 'http://api.test', ...environment }, fixtureSettings)
  const context = { db: database.db, storage, settings, log: pino({ level: 'silent' }) }
  return {
    context,
    database,
    storage,
    async close() {
      storage.close()
      await database.close()
    },
  }
}

export async function openApp({ database }: ImportFixture, users: readonly string[] = []): Promise<number> {
  const { appId } = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
  await registerUsers(database.db, appId, users)
  return appId
}

/** Opens an app with these users, in which these keys are registered as integers. */
export async function openAppWithIntegers(
  fixture: ImportFixture,
  keys: readonly string[],
  users: readonly string[],
): Promise<number> {
  const appId = await openApp(fixture, users)
  const types = new Map(keys.map((key) => [key, 'int' as const]))
  await fixture.database.db.transaction().execute((tx) => registerKeys(tx, appId, types, 500))
  return appId
}

/** Stores a file and queues its import, as if it had been uploaded. Returns the import's ID. */
export async function queueFile(
  { database, storage }: { database: Pick<TestDatabase, 'db'>; storage: Storage },
  appId: number,
  file: Buffer | string,
  contentType: 'text/csv' | 'application/gzip' = 'text/csv',
  dryRun = false,
  options: GivenOptions = {},
): Promise<string> {
  const importId = crypto.randomUUID()
  const objectKey = `apps/${appId}/imports/${importId}/upload`
  await storage.write(objectKey, Buffer.from(file), contentType)
  const stat = await storage.stat(objectKey)
  await database.db
    .insertInto('imports')
    .values({
      app_id: appId,
      import_id: importId,
      source: 'v3',
      state: 'queued',
      dry_run: dryRun,
      ...(options.profileTypes !== undefined && { profile_types: JSON.stringify(options.profileTypes) }),
      ...(options.newKeys !== undefined && { new_keys: options.newKeys }),
      clear_marker: options.clearMarker ?? null,
      keep_changes: options.keepChanges ?? false,
      ...(options.holdIf !== undefined && { hold_if: JSON.stringify(options.holdIf) }),
      object_key: objectKey,
      content_type: contentType,
      etag: stat?.etag ?? null,
      stored_size: stat?.byteSize ?? null,
      queued_at: new Date(),
    })
    .execute()
  return importId
}

export async function claim({ context }: ImportFixture, appId: number, importId: string): Promise<ClaimedImport> {
  const claimed = await claimImport(context, { appId, importId })
  if (claimed === undefined) throw new Error(`import ${importId} cannot be claimed`)
  return claimed
}

/** The result of an import, as its owner sees it. */
export interface Result {
  view: ImportView
  /** The error file's bytes; undefined if there is none. */
  errorFile: Buffer | undefined
  /** The text of the changes file; undefined if there is none. */
  changesFile: string | undefined
}

export async function importFile(
  fixture: ImportFixture,
  appId: number,
  file: Buffer | string,
  options: { gzip?: boolean; dryRun?: boolean } & GivenOptions = {},
): Promise<Result> {
  const importId = options.gzip
    ? await queueFile(fixture, appId, gzipSync(file), 'application/gzip', options.dryRun, options)
    : await queueFile(fixture, appId, file, 'text/csv', options.dryRun, options)
  await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
  return await resultOf(fixture, appId, importId)
}

export async function resultOf({ context, storage }: ImportFixture, appId: number, importId: string): Promise<Result> {
  const view = await showImport(context.db, 'http://api.test', { appId, importId })
  if (view === undefined) throw new Error(`import ${importId} is gone`)
  const keys = await context.db
    .selectFrom('imports')
    .select(['error_file_key', 'changes_file_key'])
    .where('import_id', '=', importId)
    .executeTakeFirstOrThrow()
  const read = async (url: string | null, key: string | null) =>
    url === null ? undefined : Buffer.concat(await (await storage.read(key ?? '')).toArray())
  const changes = await read(view.changes_file_url, keys.changes_file_key)
  return {
    view,
    errorFile: await read(view.error_file_url, keys.error_file_key),
    changesFile: changes && gunzipSync(changes).toString(),
  }
}

/** Returns the profiles of an app: user ID → key → value. */
export async function profilesOf(
  { database }: ImportFixture,
  appId: number,
): Promise<Record<string, Record<string, unknown>>> {
  return await storedProfiles(database, appId)
}

/** An app, and what tests do with its imports. */
export interface TestApp {
  fixture: ImportFixture
  context: ImportFixture['context']
  db: TestDatabase['db']
  storage: Storage
  appId: number
  queue(
    file: Buffer | string,
    contentType?: 'text/csv' | 'application/gzip',
    dryRun?: boolean,
    options?: GivenOptions,
  ): Promise<string>
  claim(importId: string): Promise<ClaimedImport>
  /** Claims an import. Returns undefined if it cannot be claimed now. */
  tryToClaim(importId: string): ReturnType<typeof claimImport>
  /** Claims an import, or takes a claim, and runs it without a shutdown. `changes` replaces parts of the context. */
  run(of: string | ClaimedImport, changes?: Partial<ImportFixture['context']>): ReturnType<typeof runImport>
  importFile(file: Buffer | string, options?: Parameters<typeof importFile>[3]): Promise<Result>
  resultOf(importId: string): Promise<Result>
  profiles(): ReturnType<typeof profilesOf>
}

/** Returns what tests do with the imports of an app of a fixture. */
export function testApp(fixture: ImportFixture, appId: number): TestApp {
  const { context, storage } = fixture
  return {
    ...{ fixture, context, storage, appId, db: context.db },
    queue: (...file) => queueFile(fixture, appId, ...file),
    claim: (importId) => claim(fixture, appId, importId),
    tryToClaim: (importId) => claimImport(context, { appId, importId }),
    async run(of, changes = {}) {
      const claimed = typeof of === 'string' ? await claim(fixture, appId, of) : of
      return await runImport({ ...context, ...changes }, claimed, new AbortController().signal)
    },
    importFile: (...file) => importFile(fixture, appId, ...file),
    resultOf: (importId) => resultOf(fixture, appId, importId),
    profiles: () => profilesOf(fixture, appId),
  }
}

/** Opens a fixture and an app with these users before each test. The result always is the app of the current test. */
export function eachWithApp(users: readonly string[], environment: Record<string, string> = {}): TestApp {
  const fixture = openBeforeEach(() => openImportFixture(environment))
  return openBeforeEach(async () => testApp(fixture, await openApp(fixture, users)))
}
