import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { openClientApp } from '../faults/harness/client.ts'
import type { Deployment } from '../faults/harness/deployment.ts'
import { sluice } from '../operators/command-line.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { addReceiver, deliveryStates, importOneFile, startWebhookDeployment } from './webhook-deployment.ts'
import { localEnvironment, makeDue } from './webhook-fixture.ts'

// Worker processes send webhooks: none is lost with its process. workers.long.test.ts lets receivers hang.
let deployment: Deployment
let receiver: Receiver
beforeAll(async () => {
  deployment = await startWebhookDeployment()
})
afterAll(() => deployment.close())
beforeEach(async () => {
  receiver = await openReceiver()
  return () => receiver.close()
})

test('a delivery whose worker is killed arrives from another worker, under the same webhook-id', async () => {
  const app = await openClientApp(deployment)
  await addReceiver(deployment, app.appId, receiver)
  receiver.next.push('hang')
  const importId = await importOneFile(deployment, app)
  await until('the first request', () => receiver.received.length === 1)
  const [worker] = deployment.workers()
  worker?.kill('SIGKILL')
  await worker?.exited
  // The lease of the dead worker ends.
  await makeDue(deployment)
  await until('the delivery', async () =>
    (await deliveryStates(deployment, app.appId)).every((state) => state === 'delivered'),
  )
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(1)
  expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({
    type: 'import.completed',
    data: { import_id: importId, state: 'completed' },
  })
}, 120_000)

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
