import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { runImport } from '@sluice/imports'
import { joinedProfileUpdates, registerUsers } from '@sluice/profiles'
import { openQueues } from '@sluice/queue'
import { startS3Endpoint } from '@sluice/s3-endpoint'
import { openStorage } from '@sluice/storage'
import { expect, inject, test } from 'vitest'
import { claim, importFile, openApp, queueFile } from '../imports/import-fixture.ts'
import { type DeletionFixture, openDeletionFixture, request, runAt, schedule } from './deletion-fixture.ts'
import { emptyRedis, filesWith, redisKeysWith, tablesWith } from './traces.ts'

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
    await request(fixture, appId, [id, 'unknown'], schedule.accepted)
    // Another file names an ID that is registered only after the request.
    await registerUsers(fixture.database.db, appId, ['unknown'])
    await importFile(fixture, appId, `user_id,age\nunknown,3\n${id},4\n`)

    // The ID also occurs in file names that the owner chose.
    const named = { file_name: `export of ${id}.csv` }
    await fixture.database.db.updateTable('imports').set(named).execute()

    expect(await tablesWith(fixture.database.db, id)).toEqual([
      'public.deletion_request_users',
      'public.import_error_chunks',
      'public.imports',
      'public.profiles',
      'public.users',
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
