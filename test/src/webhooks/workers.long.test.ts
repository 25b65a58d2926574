import { addEndpoint, enqueueEvent } from '@sluice/webhooks'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { openClientApp } from '../faults/harness/client.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { addReceiver, deliveryStates, importOneFile, startWebhookDeployment } from './webhook-deployment.ts'
import { localRule, localSettings } from './webhook-fixture.ts'

// Worker processes send webhooks without delay of imports and mails, and host the queues that their settings name.
const deployment = openBeforeAll(startWebhookDeployment)
let receiver: Receiver
beforeEach(async () => {
  receiver = await openReceiver()
  return () => receiver.close()
})

test('50 receivers that hang delay neither an import nor its mail, nor the webhook of another app', async () => {
  const slow = await openReceiver()
  slow.always = 'hang'
  for (let number = 0; number < 5; number++) {
    const { appId } = await openClientApp(deployment)
    for (let endpoint = 0; endpoint < 10; endpoint++) {
      await addEndpoint(deployment.db, { keys: localSettings.ENCRYPTION_KEYS, rule: localRule }, appId, {
        url: slow.url,
      })
    }
    const event = { type: 'import.completed', id: String(number), timestamp: '', data: {} } as const
    await deployment.db.transaction().execute((tx) => enqueueEvent(tx, appId, event))
  }
  await until('dozens of hanging requests', () => slow.waiting() > 24)

  const app = await openClientApp(deployment)
  await importOneFile(deployment, app)
  await until('the mail', async () => {
    const rows = deployment.db.selectFrom('mails').select('state').where('app_id', '=', app.appId)
    return (await rows.execute()).some(({ state }) => state === 'sent')
  })
  const other = await openClientApp(deployment)
  await addReceiver(deployment, other.appId, receiver)
  await importOneFile(deployment, other)
  await until('the webhook of another app', async () =>
    (await deliveryStates(deployment, other.appId)).includes('delivered'),
  )
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
