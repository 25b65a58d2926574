import { beginUpload, importUnannouncedFiles, type MaintenanceContext, pathOf } from '@sluice/bucket-uploads'
import { sql } from '@sluice/database'
import { userData } from '@sluice/deletions'
import { runImport } from '@sluice/imports'
import { startS3Endpoint } from '@sluice/local-stack'
import { joinedProfileUpdates, registerUsers } from '@sluice/profiles'
import { openQueues } from '@sluice/queue'
import { openStorage } from '@sluice/storage'
import { addEndpoint } from '@sluice/webhooks'
import { pino } from 'pino'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { openScratch } from '../environment/scratch.ts'
import { exportApp } from '../exports/export-fixture.ts'
import { changeImport, endPause } from '../imports/forced-states.ts'
import { claim, importFile, openApp, queueFile } from '../imports/import-fixture.ts'
import { type DeletionFixture, openDeletionFixture, request, runAt, schedule } from './deletion-fixture.ts'
import {
  columnsWith,
  columnsWithoutUserData,
  columnsWithText,
  emptyRedis,
  filesWith,
  redisKeysWith,
  tablesWith,
} from './traces.ts'

interface SearchableFixture extends DeletionFixture {
  folder: string
  log: string[]
  maintenance: MaintenanceContext
}

/** Opens a fixture with a log and with its own storage, whose folder can be searched. */
async function openSearchableFixture(): Promise<SearchableFixture> {
  const scratch = await openScratch('sluice-erasure-')
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret' }
  const buckets = ['test']
  const at = { root: scratch.path, host: '127.0.0.1', port: 0, region: 'us-east-1' }
  const endpoint = await startS3Endpoint({ ...at, credentials, buckets })
  const settings = {
    S3_ENDPOINT: endpoint.url,
    S3_REGION: 'us-east-1',
    S3_BUCKET: 'test',
    S3_ACCESS_KEY_ID: 'test',
    S3_SECRET_ACCESS_KEY: 'test-secret',
  }
  const storage = openStorage(settings)
  const fixture = await openDeletionFixture()
  const lines: string[] = []
  const log = pino({ level: 'trace' }, { write: (line) => lines.push(line) })
  const context = { ...fixture.context, storage, log }
  return {
    ...fixture,
    folder: scratch.path,
    log: lines,
    storage,
    context,
    maintenance: context,
    deletions: { ...fixture.deletions, storage, log },
    async close() {
      await fixture.close()
      storage.close()
      await endpoint.close()
      await scratch[Symbol.asyncDispose]()
    },
  }
}

async function storedKeys({ maintenance }: SearchableFixture): Promise<string[]> {
  const keys: string[] = []
  for await (const page of maintenance.storage.list('')) keys.push(...page.map(({ key }) => key))
  return keys
}

const cleared = new Set(userData.flatMap(({ clears }) => clears))
const clearedColumns = [...cleared].filter((name) => !name.includes('/')).toSorted()
const clearedPrefixes = [...cleared].filter((name) => name.includes('/'))

// changes.md §1, Elsewhere.
test('each column with text or bytes is cleared by a completion, or is known to hold nothing about users', async () => {
  const { db, close } = await openTestDatabase()
  onTestFinished(close)
  const others = Object.entries(columnsWithoutUserData).flatMap(([table, names]) =>
    names.map((name) => `${table}.${name}`),
  )
  expect(await columnsWithText(db)).toEqual([...clearedColumns, ...others].toSorted())
})

/** Leaves an ID in file names, a warning, a bucket upload that broke off, an export, and a refused file. */
async function leaveOtherTraces(fixture: SearchableFixture, appId: number, id: string): Promise<void> {
  const { db } = fixture.database
  const write = (key: string) => fixture.storage.write(key, Buffer.from(`user_id,age\n${id},1\n`), 'text/csv')
  const warnings = JSON.stringify([{ key: 'age', type: 'int', message: 'm', examples: [id] }])
  await db
    .updateTable('imports')
    .set({ file_name: `export of ${id}.csv`, warnings })
    .execute()
  await sql`insert into undo_lines values (${appId}, gen_random_uuid(), ${id}, 1, '{name}', '{string}', ${[id]}, ${[id]})`.execute(
    db,
  )
  await write((await beginUpload(fixture.maintenance, appId, `${id}.csv`)).objectKey)
  await sql`update bucket_uploads set started_at = started_at - interval '61 minutes'`.execute(db)
  expect(await exportApp(fixture, appId)).toContain(id)
  await write(`${pathOf(appId)}bad ${id}.csv`)
  await importUnannouncedFiles(fixture.maintenance)
}

/** Expects an ID in exactly the columns that a completion clears, and objects under exactly its prefixes. */
async function expectInEveryPlace(fixture: SearchableFixture, appId: number, id: string): Promise<void> {
  expect(await columnsWith(fixture.database.db, id)).toEqual(clearedColumns)
  const keys = await storedKeys(fixture)
  const prefixes = clearedPrefixes.map((prefix) => prefix.replace('<app>', String(appId)))
  expect(prefixes.filter((prefix) => !keys.some((key) => key.startsWith(prefix)))).toEqual([])
  expect(keys.filter((key) => !prefixes.some((prefix) => key.startsWith(prefix)))).toEqual([])
}

const sharedRedis = inject('redisUrl')
const stores = [
  ['Postgres', undefined] as const,
  ...(sharedRedis === undefined ? [] : [['Redis', sharedRedis] as const]),
]

test.each(stores)(
  'after completion no table, no stored file, no log line and no queue payload on %s holds the user’s ID',
  async (store, redis) => {
    const redisUrl = redis === undefined ? undefined : await emptyRedis(redis, 10)
    const inRedis = async (text: string) => (redisUrl === undefined ? [] : await redisKeysWith(redisUrl, text))
    const fixture = await openSearchableFixture()
    const queues = openQueues(redisUrl === undefined ? { databaseUrl: fixture.database.url } : { redisUrl }, () => {})
    const id = `marker-${crypto.randomUUID()}`
    const appId = await openApp(fixture, [id, 'bob'])
    const add = (importId: string) => queues.add('imports', [{ id: importId, payload: { appId, importId } }])
    await joinedProfileUpdates(fixture.database.db, 500)(appId, id, [{ key: 'name', type: 'string', value: id }])
    // The ID occurs in an upload, in an error file, and in error rows that storage did not accept as a file.
    for (const file of [`user_id,age\n${id},1\nbob,2\n`, `user_id,age\n${id},none\nghost,2\n`]) {
      await add((await importFile(fixture, appId, file, { keepChanges: true })).view.import_id)
    }
    const failing = await queueFile(fixture, appId, `user_id,age\n${id},none\n`)
    await add(failing)
    const storage = { ...fixture.storage, writeStream: () => Promise.reject(new Error('no room')) }
    const settings = { ...fixture.context.settings, IMPORT_ATTEMPTS: 1 }
    for (const outcome of ['postponed', 'failed']) {
      const claimed = await claim(fixture, appId, failing)
      const ended = await runImport({ ...fixture.context, storage, settings }, claimed, new AbortController().signal)
      expect(ended).toMatchObject({ outcome })
      await endPause(fixture.database.db, failing)
    }
    // The mail and the webhook of an import have the name of its file.
    const keys = [Buffer.alloc(32)]
    await addEndpoint(fixture.database.db, { keys, rule: { allowsHttp: true, isAllowed: () => true } }, appId, {
      url: 'http://127.0.0.1/',
    })
    const named = await queueFile(fixture, appId, 'user_id,age\nbob,1\n')
    await changeImport(fixture.database.db, named, { file_name: `${id}.csv` })
    await runImport(fixture.context, await claim(fixture, appId, named), new AbortController().signal)
    await request(fixture, appId, [id, 'unknown'], schedule.accepted)
    // Another file names an ID that is registered only after the request.
    await registerUsers(fixture.database.db, appId, ['unknown'])
    await importFile(fixture, appId, `user_id,age\nunknown,3\n${id},4\n`)

    await leaveOtherTraces(fixture, appId, id)
    await expectInEveryPlace(fixture, appId, id)
    // Proves that the search finds what a queue holds.
    const queued = [...(await tablesWith(fixture.database.db, failing)), ...(await inRedis(failing))]
    expect(queued).toContainEqual(expect.stringContaining(store === 'Redis' ? '{sluice}:imports' : 'bullmq.'))

    const { mails } = await runAt(fixture, schedule.completion)
    await queues.add(
      'mails',
      mails.map((mail) => ({ id: mail.mailId, payload: mail })),
    )
    expect(await storedKeys(fixture)).toEqual([])
    for (const text of [id, 'unknown']) {
      expect(await tablesWith(fixture.database.db, text)).toEqual([])
      expect(await filesWith(fixture.folder, text)).toEqual([])
      expect(await inRedis(text)).toEqual([])
      expect(fixture.log.join('')).not.toContain(text)
    }
    await queues.close()
    await fixture.close()
  },
)
