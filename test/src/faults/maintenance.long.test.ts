import { requestDeletion } from '@sluice/deletions'
import { uploadKey } from '@sluice/imports'
import { enqueueMails } from '@sluice/mail'
import { expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { errorChunkOf } from '../imports/error-chunk.ts'
import { type ClientApp, openClientApp, request } from './harness/client.ts'
import { type Deployment, startDeployment } from './harness/deployment.ts'
import { generateSoundFile } from './harness/generate.ts'

test('SIGTERM ends a worker cleanly while storage answers no request of any maintenance task', async () => {
  const deployment = await startDeployment({ workers: 0 })
  onTestFinished(() => deployment.close())
  const app = await openClientApp(deployment)
  await request(deployment, app, generateSoundFile(seeded(1), 0, 10))
  await insertEndedImport(deployment, app, 'completed')
  await insertEndedImport(deployment, await openAppWithDeletion(deployment), 'failed')
  await insertEndedImport(deployment, app, 'cancelled')
  await deployment.db
    .insertInto('bucket_uploads')
    .values({ app_id: app.appId, file_name: 'abandoned.csv', started_at: new Date(0) })
    .execute()

  const unanswered: string[] = []
  const release = Promise.withResolvers<void>()
  onTestFinished(() => release.resolve())
  deployment.storageFaults.set(({ method, path }) => {
    unanswered.push(`${method} ${path.replace(/.*\//, '')}`)
    return { kind: 'hold', until: release.promise }
  })
  const worker = await deployment.addWorker({ env: { WORKER_QUEUES: 'maintenance' } })
  const listings = () => unanswered.filter((request) => request.startsWith('GET')).length
  // Searches for unannounced files, abandoned uploads, old files and a deletion's files each begin with a listing.
  await until('a request of each task', () => {
    return listings() >= 4 && unanswered.includes('HEAD upload') && unanswered.some((each) => each.includes('errors-'))
  })
  worker.kill('SIGTERM')
  expect(await worker.exited).toBe(0)
}, 120_000)

test('a task that waits for storage does not delay the tasks that are due at the same times', async () => {
  const deployment = await startDeployment({ workers: 0 })
  onTestFinished(() => deployment.close())
  const app = await openClientApp(deployment)
  await insertAwaitedUpload(deployment, app)
  let looks = 0
  const release = Promise.withResolvers<void>()
  onTestFinished(() => release.resolve())
  deployment.storageFaults.set(({ method, path }) => {
    if (method === 'HEAD' && path.endsWith('/upload')) looks++
    return { kind: 'hold', until: release.promise }
  })
  await deployment.addWorker({ env: { WORKER_QUEUES: 'maintenance,mails', UPLOAD_CHECK_INTERVAL: '1s' } })
  await until('a look for the upload', () => looks > 0)
  await enqueueMails(deployment.db, app.appId, 'news', { subject: 'News', text: 'News', html: 'News' })
  await until('the mail', () => deployment.mail.received.some(({ to }) => to === app.emails[0]))
  // The look is still waiting: otherwise the next one would have begun.
  expect(looks).toBe(1)
}, 120_000)

// docs/faults.md, Processes.
test('the next oldest workers host maintenance when the three that host it die at once', async () => {
  const deployment = await startDeployment({ workers: 5 })
  onTestFinished(() => deployment.close())
  const app = await openClientApp(deployment)
  const oldest = () =>
    deployment.db.selectFrom('workers').select('pid').orderBy('started_at').orderBy('worker_id').execute()
  await until('five workers', async () => (await oldest()).length === 5)
  const hosts = (await oldest()).slice(0, 3).map(({ pid }) => pid)
  for (const worker of deployment.workers()) if (hosts.includes(worker.pid)) worker.kill('SIGKILL')
  const diedAt = performance.now()
  await enqueueMails(deployment.db, app.appId, 'news', { subject: 'News', text: 'News', html: 'News' })
  await until('the mail', () => deployment.mail.received.some(({ to }) => to === app.emails[0]), 60_000)
  const seconds = Math.round((performance.now() - diedAt) / 1000)
  console.log(`maintenance again after ${seconds} s`)
  expect(seconds).toBeLessThan(30)
}, 120_000)

/** Inserts an import whose upload only maintenance looks for: no process has handed out its address. */
async function insertAwaitedUpload({ db }: Deployment, { appId }: ClientApp) {
  const importId = crypto.randomUUID()
  const [expiresAt, checkAt] = [new Date(Date.now() + 300_000), new Date()]
  await db
    .insertInto('imports')
    .values({
      app_id: appId,
      import_id: importId,
      source: 'v3',
      state: 'awaiting_upload',
      object_key: uploadKey(appId, importId),
      content_type: 'text/csv',
      upload_expires_at: expiresAt,
      upload_check_at: checkAt,
    })
    .execute()
}

/** Inserts an import that has ended: long ago if it completed, or with its report still due if it was cancelled. */
async function insertEndedImport(
  { db }: Deployment,
  { appId }: ClientApp,
  state: 'completed' | 'failed' | 'cancelled',
) {
  const importId = crypto.randomUUID()
  await db
    .insertInto('imports')
    .values({
      app_id: appId,
      import_id: importId,
      source: 'v3',
      state,
      object_key: 'gone',
      content_type: 'text/csv',
      columns: JSON.stringify(['user_id']),
      report_due: state === 'cancelled',
      finished_at: state === 'completed' ? new Date(0) : new Date(),
    })
    .execute()
  const { chunk } = errorChunkOf({ appId, importId, position: 10, columns: ['user_id'] }, ['nobody'])
  await db.insertInto('import_chunks').values(chunk).execute()
}

/** Creates an app with a deletion that is due. */
async function openAppWithDeletion(deployment: Deployment): Promise<ClientApp> {
  const app = await openClientApp(deployment)
  const deletion = { appId: app.appId, userIds: ['nobody'], tokenLastFour: 'last' }
  const context = { db: deployment.db, settings: { SERVICE_TIMEZONE: 'UTC' } }
  await requestDeletion(context, deletion, new Date('2020-01-01T00:00:00Z'))
  return app
}
