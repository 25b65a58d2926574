import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { joinedProfileUpdates, registerUsers } from '@sluice/profiles'
import { openQueues } from '@sluice/queue'
import { startS3Endpoint } from '@sluice/s3-endpoint'
import { openStorage } from '@sluice/storage'
import { addEndpoint } from '@sluice/webhooks'
import { expect, inject, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { claim, importFile, openApp, queueFile } from '../imports/import-fixture.ts'
import { type DeletionFixture, openDeletionFixture, request, runAt, schedule } from './deletion-fixture.ts'
import { columnsWithUsers, emptyRedis, filesWith, otherColumns, redisKeysWith, tablesWith } from './traces.ts'

/** Opens a fixture with its own storage, whose folder can be searched. */
async function openDeletionFixtureWithFolder(): Promise<DeletionFixture & { folder: string }> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-erasure-'))
  const credentials = { accessKeyId: 'test', secretAccessKey: 'test-secret' }
  const buckets = ['test']
  const at = { root: folder, host: '127.0.0.1', port: 0, region: 'us-east-1' }
  const endpoint = await startS3Endpoint({ ...at, credentials, buckets })
  const storage = openStorage({
    S3_ENDPOINT: endpoint.url,
    S3_REGION: 'us-east-1',
    S3_BUCKET: 'test',
    S3_ACCESS_KEY_ID: 'test',
    S3_SECRET_ACCESS_KEY: 'test-secret',
  })
  const fixture = await openDeletionFixture()
  return {
    ...fixture,
    folder,
    storage,
    context: { ...fixture.context, storage },
    deletions: { ...fixture.deletions, storage },
    async close() {
      await fixture.close()
      storage.close()
      await endpoint.close()
      await rm(folder, { recursive: true })
    },
  }
}

test('each column with text or bytes is known to hold text about users, with what removes it, or none', async () => {
  const { db, close } = await openTestDatabase()
  onTestFinished(close)
  const { rows } = await sql<{ name: string }>`
    select c.table_name || '.' || c.column_name as name from information_schema.columns c
    join information_schema.tables t using (table_schema, table_name)
    where c.table_schema = 'public' and t.table_type = 'BASE TABLE'
      and c.data_type in ('text', 'json', 'jsonb', 'bytea', 'ARRAY', 'name', 'character varying')
    order by 1
  `.execute(db)
  const names = rows.map(({ name }) => name)
  const unknown = names.filter((name) => !(name in columnsWithUsers) && !otherColumns.some((other) => other.test(name)))
  expect(unknown).toEqual([])
  expect(Object.keys(columnsWithUsers).filter((name) => !names.includes(name))).toEqual([])
})

const sharedRedis = inject('redisUrl')
const stores = [
  ['Postgres', undefined] as const,
  ...(sharedRedis === undefined ? [] : [['Redis', sharedRedis] as const]),
]

test.each(stores)(
  'after completion no table, no stored file and no queue payload on %s holds the user’s ID',
  async (store, redis) => {
    const redisUrl = redis === undefined ? undefined : await emptyRedis(redis, 10)
    const inRedis = async (text: string) => (redisUrl === undefined ? [] : await redisKeysWith(redisUrl, text))
    const fixture = await openDeletionFixtureWithFolder()
    const queues = openQueues(redisUrl === undefined ? { databaseUrl: fixture.database.url } : { redisUrl }, () => {})
    const id = `marker-${crypto.randomUUID()}`
    const appId = await openApp(fixture, [id, 'bob'])
    const add = (importId: string) => queues.add('imports', [{ id: importId, payload: { appId, importId } }])
    await joinedProfileUpdates(fixture.database.db, 500)(appId, id, [{ key: 'name', type: 'string', value: 'Ann' }])
    // The ID occurs in an upload, in an error file, and in error rows that storage did not accept as a file.
    for (const file of [`user_id,age\n${id},1\nbob,2\n`, `user_id,age\n${id},none\nghost,2\n`]) {
      await add((await importFile(fixture, appId, file)).view.import_id)
    }
    const failing = await queueFile(fixture, appId, `user_id,age\n${id},none\n`)
    await add(failing)
    const storage = { ...fixture.storage, writeStream: () => Promise.reject(new Error('no room')) }
    const settings = { ...fixture.context.settings, IMPORT_ATTEMPTS: 1 }
    for (const outcome of ['postponed', 'failed']) {
      const held = await claim(fixture, appId, failing)
      const ended = await runImport({ ...fixture.context, storage, settings }, held, new AbortController().signal)
      expect(ended).toMatchObject({ outcome })
      await fixture.database.db
        .updateTable('imports')
        .set({ retry_at: null })
        .where('import_id', '=', failing)
        .execute()
    }
    // The mail and the webhook of an import have the name of its file.
    const keys = [Buffer.alloc(32)]
    await addEndpoint(fixture.database.db, keys, { allowsHttp: true, isAllowed: () => true }, appId, {
      url: 'http://127.0.0.1/',
    })
    const named = await queueFile(fixture, appId, 'user_id,age\nbob,1\n')
    await fixture.database.db
      .updateTable('imports')
      .set({ file_name: `${id}.csv` })
      .where('import_id', '=', named)
      .execute()
    await runImport(fixture.context, await claim(fixture, appId, named), new AbortController().signal)
    await request(fixture, appId, [id, 'unknown'], schedule.accepted)
    // Another file names an ID that is registered only after the request.
    await registerUsers(fixture.database.db, appId, ['unknown'])
    await importFile(fixture, appId, `user_id,age\nunknown,3\n${id},4\n`)

    // The ID also occurs in file names that the owner chose.
    await fixture.database.db
      .updateTable('imports')
      .set({ file_name: `export of ${id}.csv` })
      .execute()

    expect(await tablesWith(fixture.database.db, id)).toEqual([
      'public.deletion_request_users',
      'public.import_error_chunks',
      'public.imports',
      'public.mails',
      'public.profiles',
      'public.users',
      'public.webhook_deliveries',
    ])
    expect(await filesWith(fixture.folder, id)).toHaveLength(5)
    // Proves that the search finds what a queue holds.
    const queued = [...(await tablesWith(fixture.database.db, failing)), ...(await inRedis(failing))]
    expect(queued).toContainEqual(expect.stringContaining(store === 'Redis' ? '{sluice}:imports' : 'bullmq.'))

    const { mails } = await runAt(fixture, schedule.completion)
    await queues.add(
      'mails',
      mails.map((mail) => ({ id: mail.mailId, payload: mail })),
    )
    for (const text of [id, 'unknown']) {
      expect(await tablesWith(fixture.database.db, text)).toEqual([])
      expect(await filesWith(fixture.folder, text)).toEqual([])
      expect(await inRedis(text)).toEqual([])
    }
    await queues.close()
    await fixture.close()
  },
)
