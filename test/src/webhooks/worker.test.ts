import { addEndpoint, enqueueEvent } from '@sluice/webhooks'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { sluice } from '../operators/command-line.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { localEnvironment, localRule, localSettings, makeDue } from './webhook-fixture.ts'

// Real worker processes send webhooks: none is lost with its process, and none delays an import or a mail.
let deployment: Deployment
let receiver: Receiver
beforeAll(async () => {
  deployment = await startDeployment({ workers: 1, env: localEnvironment })
})
afterAll(() => deployment.close())
beforeEach(async () => {
  receiver = await openReceiver()
  return () => receiver.close()
})

const addReceiver = (appId: number) =>
  addEndpoint(deployment.db, localSettings.ENCRYPTION_KEYS, localRule, appId, { url: receiver.url })

const importOneFile = (app: Awaited<ReturnType<typeof openClientApp>>) =>
  upload(deployment, app, generateSoundFile(seeded(1), 1, 50))

test('a delivery whose worker is killed arrives from another worker, under the same webhook-id', async () => {
  const app = await openClientApp(deployment)
  await addReceiver(app.appId)
  receiver.next.push('hang')
  const importId = await importOneFile(app)
  await until('the first request', () => receiver.received.length === 1)
  const [worker] = deployment.workers()
  worker?.kill('SIGKILL')
  await worker?.exited
  // The lease of the dead worker ends.
  await makeDue(deployment)
  await until('the delivery', async () => (await stateOf(app.appId)).every((state) => state === 'delivered'))
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(1)
  expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({
    type: 'import.completed',
    data: { import_id: importId, state: 'completed' },
  })
}, 120_000)

test('50 receivers that hang delay neither an import nor its mail, nor the webhook of another app', async () => {
  const slow = await openReceiver()
  slow.always = 'hang'
  for (let number = 0; number < 5; number++) {
    const { appId } = await openClientApp(deployment)
    for (let endpoint = 0; endpoint < 10; endpoint++) {
      await addEndpoint(deployment.db, localSettings.ENCRYPTION_KEYS, localRule, appId, { url: slow.url })
    }
    const event = { type: 'import.completed', id: String(number), timestamp: '', data: {} } as const
    await deployment.db.transaction().execute((tx) => enqueueEvent(tx, appId, event))
  }
  await until('dozens of hanging requests', () => slow.waiting() > 24)

  const app = await openClientApp(deployment)
  await importOneFile(app)
  await until('the mail', async () => {
    const rows = deployment.db.selectFrom('mails').select('state').where('app_id', '=', app.appId)
    return (await rows.execute()).some(({ state }) => state === 'sent')
  })
  const other = await openClientApp(deployment)
  await addReceiver(other.appId)
  await importOneFile(other)
  await until('the webhook of another app', async () => (await stateOf(other.appId)).includes('delivered'))
  expect(receiver.received).toHaveLength(1)
  // None of the slow deliveries has ended meanwhile.
  const waiting = await deployment.db.selectFrom('webhook_deliveries').select('state').execute()
  expect(waiting.filter(({ state }) => state === 'waiting')).toHaveLength(50)
  await slow.close()
}, 120_000)

test.each([
  [{ ENCRYPTION_KEYS: '' }, ['imports', 'exports', 'mails', 'maintenance']],
  [{ WORKER_QUEUES: 'webhooks' }, ['webhooks']],
])('a worker with the settings %j hosts the queues %j', async (env, queues) => {
  const worker = await deployment.addWorker({ env })
  expect(worker.info.queues).toEqual(queues)
})

test('the commands add an endpoint, test it, replace its secret and remove it', async () => {
  const { appId } = await openClientApp(deployment)
  const webhook = (name: string, ...args: string[]) =>
    sluice({ url: deployment.databaseUrl }, ['webhook', name, '--app', String(appId), ...args], localEnvironment)
  const added = (await webhook('add', '--url', receiver.url, '--events', 'export.completed,import.failed')).json
  const { endpoint_id: id, secret } = added as { endpoint_id: string; secret: string }
  const events = ['import.failed', 'export.completed']
  expect(added).toEqual({ endpoint_id: id, url: receiver.url, events, secret: expect.stringMatching(/^whsec_/) })
  const listed = (await webhook('list')).json
  expect(listed).toEqual([
    { endpoint_id: id, url: receiver.url, events, created_at: expect.any(String), failing_since: null },
  ])
  const rotated = (await webhook('rotate', id)).json as { secret: string }
  expect(rotated.secret).not.toBe(secret)
  expect((await webhook('test', id)).json).toMatchObject({ endpoint_id: id, state: 'delivered', status: 200 })
  const { headers, body } = receiver.received[0] ?? { headers: {}, body: '' }
  expect(new Webhook(rotated.secret).verify(body, headers as Record<string, string>)).toMatchObject({
    type: 'webhook.test',
    data: { endpoint_id: id },
  })
  receiver.next.push(503)
  const failed = await webhook('test', id)
  expect([failed.code, failed.output]).toEqual([1, expect.stringContaining('the receiver answered 503')])
  expect((await webhook('remove', id)).code).toBe(0)
  expect((await webhook('list')).json).toEqual([])
  for (const name of ['remove', 'rotate', 'test']) expect((await webhook(name, id)).code).toBe(1)
  expect((await webhook('add', '--url', 'https://10.0.0.1/')).output).toContain('not public')
}, 120_000)

async function stateOf(appId: number): Promise<string[]> {
  const rows = await deployment.db
    .selectFrom('webhook_deliveries')
    .select('state')
    .where('app_id', '=', appId)
    .execute()
  return rows.map(({ state }) => state)
}
