import { createApp } from '@sluice/accounts'
import { limits } from '@sluice/contract'
import { sql } from '@sluice/database'
import {
  dueDeliveries,
  enableEndpoint,
  enqueueEvent,
  enqueueTest,
  forgetFileNames,
  listDeliveries,
  removeEndpoint,
  removeOldDeliveries,
  sendAgain,
  webhookBacklog,
} from '@sluice/webhooks'
import { describe, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { eachWithReceiver, makeDue, openEndpoint, recordAnyEvent, states } from './webhook-fixture.ts'

// Deliveries are recorded with their event, and no app delays another app's deliveries.
const { fixture, receiver } = eachWithReceiver()

const openOtherApp = async () => (await createApp(fixture.db, { name: 'Other', email: 'bob@example.com' })).appId

// second-day.md §5, Outbox.
describe('an event', () => {
  test('has one delivery for each endpoint that has chosen it, however often it is recorded', async () => {
    const [first, second] = [await openEndpoint(fixture, receiver.url), await openEndpoint(fixture, receiver.url)]
    await openEndpoint(fixture, receiver.url, { events: ['import.failed'] })
    await openEndpoint(fixture, receiver.url, { app: await openOtherApp() })
    for (let times = 0; times < 2; times++) await recordAnyEvent(fixture, { id: 'same' })
    const { deliveries } = await listDeliveries(fixture.db, fixture.appId, 10)
    const endpoints = deliveries.map(({ endpointId }) => endpointId)
    expect(endpoints.toSorted()).toEqual([first.endpointId, second.endpointId].toSorted())
  })

  test('that is rolled back has no delivery', async () => {
    await openEndpoint(fixture, receiver.url)
    const failing = fixture.db.transaction().execute(async (tx) => {
      await enqueueEvent(tx, fixture.appId, { type: 'import.completed', id: '1', timestamp: '', data: {} })
      throw new Error('the event did not happen')
    })
    await expect(failing).rejects.toThrow()
    expect(await states(fixture)).toEqual([])
  })

  test('beyond 5,000 waiting deliveries is recorded as failed, and can be sent again', async () => {
    const { endpointId } = await openEndpoint(fixture, receiver.url)
    await sql`
      insert into webhook_deliveries (app_id, endpoint_id, type, event, body, retry_until, next_attempt_at)
      select ${fixture.appId}, ${endpointId}, 'import.completed', n::text, '{}', now(), now() + interval '1 hour'
      from generate_series(1, ${limits.webhookWaiting}::integer) n
    `.execute(fixture.db)
    await recordAnyEvent(fixture, { id: 'one too many' })
    const [last] = (await listDeliveries(fixture.db, fixture.appId, 1)).deliveries
    expect(last).toMatchObject({ state: 'failed', error: '5000 deliveries wait for this endpoint already' })
    const tested = await enqueueTest(fixture.db, fixture.appId, endpointId)
    expect(await fixture.deliverer.deliver(tested ?? { appId: 0, deliveryId: '' })).toEqual({ outcome: 'not due' })
    expect(await sendAgain(fixture.db, fixture.appId, last?.deliveryId ?? '')).toBe(true)
    const due = await dueDeliveries(fixture.db, 10)
    expect(due).toMatchObject([{ appId: fixture.appId, deliveryId: last?.deliveryId }])
  })
})

describe('fairness', () => {
  test('one app has at most eight attempts in flight and one endpoint two, however many processes claim at once', async () => {
    for (let endpoint = 0; endpoint < 6; endpoint++) await openEndpoint(fixture, receiver.url)
    for (let event = 0; event < 5; event++) await recordAnyEvent(fixture)
    expect(await dueDeliveries(fixture.db, 1_000)).toHaveLength(8)
    receiver.always = 'hang'
    const rows = await fixture.db.selectFrom('webhook_deliveries').select('delivery_id').execute()
    const shutdown = new AbortController()
    let refused = 0
    const attempts = rows.map(async ({ delivery_id: deliveryId }) => {
      const { outcome } = await fixture.deliverer.deliver({ appId: fixture.appId, deliveryId }, shutdown.signal)
      if (outcome === 'not due') refused++
    })
    await until('every claim', () => refused === rows.length - 8 && receiver.received.length === 8)
    const { rows: busy } = await sql<{ count: number }>`
      select count(*) from webhook_deliveries where lease_until > now() group by endpoint_id
    `.execute(fixture.db)
    for (const { count } of busy) expect(count).toBeLessThanOrEqual(2)
    shutdown.abort()
    await Promise.all(attempts)
    expect(await dueDeliveries(fixture.db, 1_000)).toHaveLength(8)
  })

  test('due deliveries alternate between apps: a delivery does not wait for another app’s backlog', async () => {
    const other = await openOtherApp()
    for (let endpoint = 0; endpoint < 4; endpoint++) await openEndpoint(fixture, receiver.url)
    for (let event = 0; event < 50; event++) await recordAnyEvent(fixture)
    await openEndpoint(fixture, receiver.url, { app: other })
    await recordAnyEvent(fixture, { app: other })
    const due = await dueDeliveries(fixture.db, 2)
    expect(due.map(({ appId }) => appId).toSorted((a, b) => a - b)).toEqual([fixture.appId, other])
  })

  test('an app whose receivers hang is no reason to look after the workers', async () => {
    await openEndpoint(fixture, receiver.url)
    for (let event = 0; event < 3; event++) await recordAnyEvent(fixture)
    await makeDue(fixture)
    expect(await webhookBacklog(fixture.db)).toMatchObject({ waiting: 3, failingEndpoints: 0 })
    expect((await webhookBacklog(fixture.db)).overdue).toBeGreaterThan(1_000)
    receiver.always = 'hang'
    const shutdown = new AbortController()
    const [delivery] = await dueDeliveries(fixture.db, 1)
    const attempt = delivery && fixture.deliverer.deliver(delivery, shutdown.signal)
    await until('the request', () => receiver.received.length === 1)
    expect((await webhookBacklog(fixture.db)).overdue).toBe(0)
    shutdown.abort()
    await attempt
  })

  test('deliveries of an endpoint that nothing is sent to are not overdue', async () => {
    const [disabled, removed] = [await openEndpoint(fixture, receiver.url), await openEndpoint(fixture, receiver.url)]
    await recordAnyEvent(fixture)
    await makeDue(fixture)
    await fixture.db
      .updateTable('webhook_endpoints')
      .set({ disabled_at: new Date() })
      .where('endpoint_id', '=', disabled.endpointId)
      .execute()
    expect((await webhookBacklog(fixture.db)).overdue).toBeGreaterThan(1_000)
    await removeEndpoint(fixture.db, fixture.appId, removed.endpointId)
    expect(await webhookBacklog(fixture.db)).toMatchObject({ waiting: 2, overdue: 0 })
    await enableEndpoint(fixture.db, fixture.appId, disabled.endpointId)
    expect((await webhookBacklog(fixture.db)).overdue).toBeGreaterThan(1_000)
  })
})

describe('history', () => {
  const age = (days: number) =>
    sql`
      update webhook_deliveries set ended_at = now() - make_interval(days => ${days}) where state <> 'waiting'
    `.execute(fixture.db)

  // second-day.md §6, History.
  test('ended deliveries are removed after HISTORY_RETENTION_DAYS; waiting ones stay', async () => {
    await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    const [delivery] = await dueDeliveries(fixture.db, 1)
    if (delivery !== undefined) await fixture.deliverer.deliver(delivery)
    await recordAnyEvent(fixture)
    await age(399)
    expect(await removeOldDeliveries(fixture.db, 400, undefined)).toBe(0)
    await age(401)
    expect(await removeOldDeliveries(fixture.db, 400, undefined)).toBe(1)
    expect(await states(fixture)).toEqual(['waiting'])
  })

  test('pages follow each other without gap, and a made-up position lists nothing', async () => {
    await openEndpoint(fixture, receiver.url)
    for (let event = 0; event < 7; event++) await recordAnyEvent(fixture)
    const seen: string[] = []
    let before: string | undefined
    do {
      const page = await listDeliveries(fixture.db, fixture.appId, 3, before)
      seen.push(...page.deliveries.map(({ deliveryId }) => deliveryId))
      before = page.next
    } while (before !== undefined)
    expect(new Set(seen).size).toBe(7)
    for (const position of ['', 'x', crypto.randomUUID()]) {
      expect(await listDeliveries(fixture.db, fixture.appId, 3, position)).toEqual({ deliveries: [], next: undefined })
    }
  })

  test('names of files are removed from all deliveries of an app, and nothing else', async () => {
    await openEndpoint(fixture, receiver.url)
    const data = { file_name: 'alice.csv', types: { name: 'string' }, rows_total: 3 }
    const timestamp = '2026-01-31T09:00:00.000Z'
    await enqueueEvent(fixture.db, fixture.appId, {
      ...{ type: 'import.completed', id: '1', timestamp, data },
      hasFileName: true,
    })
    // A transaction that holds a delivery does not protect it: the name is removed when the transaction ends.
    const holder = await fixture.db.startTransaction().execute()
    await holder.selectFrom('webhook_deliveries').select('delivery_id').forUpdate().execute()
    const forgetting = forgetFileNames(fixture.db, fixture.appId, undefined)
    await until('the removal to wait', async () => (await lockWaits(fixture.db)).length > 0)
    await holder.rollback().execute()
    await forgetting
    const { body } = await fixture.db.selectFrom('webhook_deliveries').select('body').executeTakeFirstOrThrow()
    expect(JSON.parse(body)).toEqual({ type: 'import.completed', timestamp, data: { ...data, file_name: null } })
  })
})
