import { createApp } from '@sluice/accounts'
import { openStorage } from '@sluice/storage'
import { addEndpoint } from '@sluice/webhooks'
import { Webhook } from 'standardwebhooks'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { openSmallDeployment } from '../faults/harness/small-deployment.ts'
import { queueFile } from '../imports/import-fixture.ts'
import { sluice } from '../operators/command-line.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import { deliveryStates } from './webhook-deployment.ts'
import { localEnvironment, localRule, localSettings, makeDue } from './webhook-fixture.ts'

// Worker processes send webhooks: none is lost with its process. workers.long.test.ts lets receivers hang.
const deployment = openBeforeAll(() => openSmallDeployment(localEnvironment))
let receiver: Receiver
let appId: number
beforeEach(async () => {
  appId = (await createApp(deployment.db, { name: 'Shop', email: 'ann@example.com' })).appId
  receiver = await openReceiver()
  return () => receiver.close()
})

test('a delivery whose worker is killed arrives from another worker, under the same webhook-id', async () => {
  const worker = await deployment.start('worker')
  await addEndpoint(deployment.db, { keys: localSettings.ENCRYPTION_KEYS, rule: localRule }, appId, {
    url: receiver.url,
  })
  receiver.next.push('hang')
  const importId = await queueAnyFile()
  await until('the first request', () => receiver.received.length === 1)
  worker.kill('SIGKILL')
  await Promise.all([worker.exited, deployment.start('worker')])
  // The lease of the dead worker ends.
  await makeDue(deployment)
  await until('the delivery', async () =>
    (await deliveryStates(deployment, appId)).every((state) => state === 'delivered'),
  )
  const ids = receiver.received.map(({ headers }) => headers['webhook-id'])
  expect(ids).toHaveLength(2)
  expect(new Set(ids).size).toBe(1)
  expect(JSON.parse(receiver.received[1]?.body ?? '')).toMatchObject({
    type: 'import.completed',
    data: { import_id: importId, state: 'completed' },
  })
}, 120_000)

// second-day.md §5, Command line.
test('the commands add an endpoint, test it, replace its secret and remove it', async () => {
  const webhook = (name: string, ...args: string[]) =>
    sluice({ url: deployment.databaseUrl }, ['webhook', name, '--app', String(appId), ...args], localEnvironment)
  const added = (await webhook('add', '--url', receiver.url, '--events', 'export.completed,import.failed')).json
  const { endpoint_id: id, secret } = added as { endpoint_id: string; secret: string }
  const events = ['import.failed', 'export.completed']
  expect(added).toEqual({ endpoint_id: id, url: receiver.url, events, secret: expect.stringMatching(/^whsec_/) })
  const listed = (await webhook('list')).json
  expect(listed).toEqual([
    {
      disabled_at: null,
      endpoint_id: id,
      url: receiver.url,
      events,
      created_at: expect.any(String),
      failing_since: null,
    },
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

/** Queues an import of a file. Returns the import's ID. */
async function queueAnyFile(): Promise<string> {
  const storage = openStorage(deployment.storageSettings)
  try {
    return await queueFile({ database: deployment, storage }, appId, 'user_id,name\nann,Ann\n')
  } finally {
    storage.close()
  }
}
