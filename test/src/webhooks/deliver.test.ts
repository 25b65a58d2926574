import { sql } from '@sluice/database'
import { dueDeliveries, enableEndpoint, enqueueTest, listDeliveries, listEndpoints, sendAgain } from '@sluice/webhooks'
import { Webhook } from 'standardwebhooks'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import {
  makeDue,
  openEndpoint,
  openOtherDeliverer,
  openWebhookFixture,
  recordAnyEvent,
  states,
  type WebhookFixture,
} from './webhook-fixture.ts'

// A delivery reaches its receiver at least once, under one webhook-id, whatever the receiver does.
let fixture: WebhookFixture
let receiver: Receiver
beforeEach(async () => {
  fixture = await openWebhookFixture()
  receiver = await openReceiver()
})
afterEach(async () => {
  await receiver.close()
  await fixture.close()
})

async function onlyDue() {
  const [delivery, ...others] = await dueDeliveries(fixture.db, 10)
  if (delivery === undefined || others.length > 0) throw new Error(`${others.length + 1} deliveries are due`)
  return delivery
}

/** Records an event, and makes one attempt to deliver it. */
async function attempt() {
  await recordAnyEvent(fixture, { data: { name: 'value' } })
  const delivery = await onlyDue()
  return { delivery, result: await fixture.deliverer.deliver(delivery) }
}

/** Makes one attempt of each delivery that is due. */
async function attemptAll() {
  const due = await dueDeliveries(fixture.db, 10)
  return await Promise.all(due.map((delivery) => fixture.deliverer.deliver(delivery)))
}

async function retryUntil(time: Date): Promise<void> {
  await fixture.db.updateTable('webhook_deliveries').set({ retry_until: time }).execute()
}

const lastError = async () => (await listDeliveries(fixture.db, fixture.appId, 1)).deliveries[0]?.error
const mails = () => fixture.db.selectFrom('mails').select(['recipient', 'subject', 'text']).execute()

// second-day.md §5, Tries.
describe('a delivery', () => {
  test('is JSON with type, timestamp and data, and its signature is valid for the secret of the endpoint', async () => {
    const { secret } = await openEndpoint(fixture, receiver.url)
    const { delivery, result } = await attempt()
    expect(result).toEqual({ outcome: 'delivered' })
    const [{ headers, body } = { headers: {}, body: '' }] = receiver.received
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'webhook-id': delivery.deliveryId })
    const verified = new Webhook(secret).verify(body, headers as Record<string, string>)
    expect(verified).toEqual({ type: 'import.completed', timestamp: expect.any(String), data: { name: 'value' } })
    expect(await dueDeliveries(fixture.db, 10)).toEqual([])
  })

  test('is sent by one of several processes', async () => {
    await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    const delivery = await onlyDue()
    const results = await Promise.all([1, 2, 3].map(() => fixture.deliverer.deliver(delivery)))
    expect(results.map(({ outcome }) => outcome).toSorted()).toEqual(['delivered', 'not due', 'not due'])
    expect(receiver.received).toHaveLength(1)
  })

  test('that was received is not recorded as failed if the database does not record its success', async () => {
    await openEndpoint(fixture, receiver.url)
    await sql`
      create function refuse() returns trigger language plpgsql as $$ begin raise 'no success today'; end $$;
      create trigger refuse before update on webhook_deliveries
        for each row when (new.state = 'delivered') execute function refuse()
    `.execute(fixture.db)
    await expect(attempt()).rejects.toThrow('no success today')
    expect(receiver.received).toHaveLength(1)
    expect(await lastError()).toBeNull()
    await sql`drop trigger refuse on webhook_deliveries; drop function refuse`.execute(fixture.db)
    await makeDue(fixture)
    expect(await fixture.deliverer.deliver(await onlyDue())).toEqual({ outcome: 'delivered' })
    expect(receiver.received[1]?.headers['webhook-id']).toBe(receiver.received[0]?.headers['webhook-id'])
  })

  test('that got 500 is sent again after a pause, under the same webhook-id and with the same body', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push(500)
    const { delivery, result } = await attempt()
    expect(result).toMatchObject({ outcome: 'postponed', error: 'the receiver answered 500', attempt: 1 })
    expect(await fixture.deliverer.deliver(delivery)).toEqual({ outcome: 'not due' })
    await makeDue(fixture)
    expect(await fixture.deliverer.deliver(delivery)).toEqual({ outcome: 'delivered' })
    const [first, second] = receiver.received
    expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id'])
    expect(second?.body).toBe(first?.body)
  })

  test.each([
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:1/' } }, 'redirects are not followed'],
    ['404', 404, 'answered 404'],
    ['a broken connection', 'disconnect', /hang up|RESET/],
  ] as const)('that got %s is tried again, and nothing else is requested', async (_, behaviour, error) => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push(behaviour)
    const { result } = await attempt()
    expect(result).toMatchObject({ outcome: 'postponed', error: expect.stringMatching(error) })
    expect(receiver.received).toHaveLength(1)
  })

  test('counts as delivered when 2xx comes; an endless answer is cut off', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push('endless body')
    expect((await attempt()).result).toEqual({ outcome: 'delivered' })
    await until('the end of the connection', () => receiver.waiting() === 0)
  })

  test('to a receiver that does not answer is given up after the time limit, and tried again', async () => {
    const hasty = await openWebhookFixture({ attemptTimeoutMs: 300 })
    await openEndpoint(hasty, receiver.url)
    receiver.always = 'hang'
    await recordAnyEvent(hasty)
    const [delivery] = await dueDeliveries(hasty.db, 10)
    if (delivery === undefined) throw new Error('nothing is due')
    const result = await hasty.deliverer.deliver(delivery)
    expect(result).toMatchObject({ outcome: 'postponed', error: 'the attempt took longer than 0.3 s' })
    await until('the end of the connection', () => receiver.waiting() === 0)
    await hasty.close()
  })

  test('is released when its process stops, and then due at once', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push('hang')
    await recordAnyEvent(fixture)
    const delivery = await onlyDue()
    const shutdown = new AbortController()
    const attempted = fixture.deliverer.deliver(delivery, shutdown.signal)
    await until('the request', () => receiver.received.length === 1)
    shutdown.abort()
    expect(await attempted).toEqual({ outcome: 'released' })
    expect(await fixture.deliverer.deliver(await onlyDue())).toEqual({ outcome: 'delivered' })
  })
})

describe('pauses', () => {
  test('double from 5 s up to four hours, with jitter', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.always = 500
    await recordAnyEvent(fixture)
    const delivery = await onlyDue()
    for (const shortest of [5, 10, 20, 40]) {
      await fixture.deliverer.deliver(delivery)
      expect(await pause()).toBeGreaterThan(shortest - 1)
      expect(await pause()).toBeLessThan(shortest * 1.25 + 1)
      await makeDue(fixture)
    }
    await fixture.db.updateTable('webhook_deliveries').set({ tries: 60 }).execute()
    await fixture.deliverer.deliver(delivery)
    expect(await pause()).toBeGreaterThan(3 * 60 * 60)
    expect(await pause()).toBeLessThanOrEqual(4 * 60 * 60)
  })

  test('are as long as the receiver asks, by seconds or a date, and at most four hours', async () => {
    await openEndpoint(fixture, receiver.url)
    for (const [value, least, most] of [
      ['120', 119, 121],
      [new Date(Date.now() + 600_000).toUTCString(), 590, 601],
      ['999999', 4 * 3_600 - 1, 4 * 3_600 + 1],
      ['0', 4, 7],
    ] as const) {
      receiver.next.push({ status: 503, headers: { 'retry-after': value } })
      const { delivery } = await attempt()
      const { rows } = await sql<{ pause: number }>`
        select extract(epoch from next_attempt_at - last_attempt_at)::float8 as pause from webhook_deliveries
        where delivery_id = ${delivery.deliveryId}
      `.execute(fixture.db)
      expect(rows[0]?.pause, value).toBeGreaterThanOrEqual(least)
      expect(rows[0]?.pause, value).toBeLessThanOrEqual(most)
    }
  })

  test('never exceed the three days: the last attempt comes at their end', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.always = 500
    await recordAnyEvent(fixture)
    await retryUntil(new Date(Date.now() + 2_000))
    await fixture.deliverer.deliver(await onlyDue())
    expect(await pause()).toBeLessThanOrEqual(2)
  })

  async function pause(): Promise<number> {
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from next_attempt_at - now())::float8 as seconds from webhook_deliveries
    `.execute(fixture.db)
    return rows[0]?.seconds ?? 0
  }
})

describe('an endpoint', () => {
  // second-day.md §5, Failing endpoints.
  test('is failing after three days without success, and each member gets one mail about it', async () => {
    await fixture.db.insertInto('members').values({ app_id: fixture.appId, email: 'bob@example.com' }).execute()
    await openEndpoint(fixture, `${receiver.url}?key=hidden`)
    receiver.always = 500
    await recordAnyEvent(fixture)
    await recordAnyEvent(fixture)
    await retryUntil(new Date(0))
    const results = []
    for (const delivery of await dueDeliveries(fixture.db, 10)) results.push(await fixture.deliverer.deliver(delivery))
    expect(results).toMatchObject([{ outcome: 'failed' }, { outcome: 'failed', mails: [] }])
    expect(await states(fixture)).toEqual(['failed', 'failed'])
    expect((await listEndpoints(fixture.db, fixture.appId))[0]?.failingSince).toBeInstanceOf(Date)
    const sent = await mails()
    expect(sent.map(({ recipient }) => recipient).toSorted()).toEqual(['ann@example.com', 'bob@example.com'])
    expect(sent[0]).toMatchObject({ subject: 'Webhook endpoint failing', text: expect.stringContaining(receiver.url) })
    expect(JSON.stringify(sent)).not.toContain('hidden')
  })

  test('errs from its first failed try until a success, and is failing since then, not since the last try', async () => {
    await openEndpoint(fixture, receiver.url)
    const endpoint = async () => (await listEndpoints(fixture.db, fixture.appId))[0]
    await recordAnyEvent(fixture)
    receiver.next.push(500)
    expect(await fixture.deliverer.deliver(await onlyDue())).toMatchObject({ outcome: 'postponed' })
    expect(await endpoint()).toMatchObject({ erringSince: expect.any(Date), failingSince: null })
    const firstTry = new Date('2026-01-01T00:00:00Z')
    await fixture.db.updateTable('webhook_endpoints').set({ erring_since: firstTry }).execute()
    await retryUntil(new Date(0))
    await makeDue(fixture)
    receiver.next.push(500)
    expect(await fixture.deliverer.deliver(await onlyDue())).toMatchObject({ outcome: 'failed' })
    expect(await endpoint()).toMatchObject({ failingSince: firstTry })
    expect((await attempt()).result).toEqual({ outcome: 'delivered' })
    expect(await endpoint()).toMatchObject({ erringSince: null, failingSince: null })
  })

  test('is failing, too, if the process of the last attempt died', async () => {
    await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    const delivery = await onlyDue()
    await sql`
      update webhook_deliveries
      set tries = 10, lease_until = now(), next_attempt_at = now(), last_attempt_at = now() - interval '20 s'
    `.execute(fixture.db)
    await retryUntil(new Date(0))
    expect(await fixture.deliverer.deliver(delivery)).toMatchObject({ outcome: 'failed', mails: [{}] })
    expect(receiver.received).toEqual([])
  })

  test('gets the last attempt after three days, if the process of the preceding attempt died', async () => {
    await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    const delivery = await onlyDue()
    await sql`
      update webhook_deliveries
      set lease_until = now(), last_attempt_at = now() - interval '2 days', retry_until = now() - interval '1 day'
    `.execute(fixture.db)
    expect(await fixture.deliverer.deliver(delivery)).toEqual({ outcome: 'delivered' })
  })

  test('that answers 410 is disabled until somebody enables it, with one mail: nothing more is sent to it', async () => {
    const { endpointId } = await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    receiver.next.push(410)
    expect((await attemptAll()).map(({ outcome }) => outcome)).toEqual(['failed'])
    expect((await listEndpoints(fixture.db, fixture.appId))[0]?.disabledAt).toBeInstanceOf(Date)
    await recordAnyEvent(fixture)
    expect(await dueDeliveries(fixture.db, 10)).toEqual([])
    expect(await mails()).toMatchObject([{ subject: 'Webhook endpoint disabled' }])
    expect(await enableEndpoint(fixture.db, fixture.appId, endpointId)).toBe(true)
    expect(await enableEndpoint(fixture.db, fixture.appId, endpointId)).toBe('unchanged')
    expect(await enableEndpoint(fixture.db, fixture.appId, crypto.randomUUID())).toBe(false)
    expect((await attempt()).result).toEqual({ outcome: 'delivered' })
  })

  test('recovers, although Postgres breaks off while the success is recorded', async () => {
    await openEndpoint(fixture, receiver.url)
    await sql`update webhook_endpoints set failing_since = now()`.execute(fixture.db)
    await sql`alter table webhook_endpoints add constraint breaks_off check (failing_since is not null)`.execute(
      fixture.db,
    )
    await expect(attempt()).rejects.toThrow('breaks_off')
    await sql`alter table webhook_endpoints drop constraint breaks_off`.execute(fixture.db)
    await makeDue(fixture)
    await attemptAll()
    expect((await listEndpoints(fixture.db, fixture.appId))[0]?.failingSince).toBeNull()
  })

  test('recovers with the next success, and the next failure is mailed again', async () => {
    await openEndpoint(fixture, receiver.url)
    const fail = async () => {
      await recordAnyEvent(fixture)
      await retryUntil(new Date(0))
      receiver.next.push(500)
      expect(await fixture.deliverer.deliver(await onlyDue())).toMatchObject({ outcome: 'failed' })
    }
    await fail()
    expect(await mails()).toHaveLength(1)
    expect((await attempt()).result).toEqual({ outcome: 'delivered' })
    expect((await listEndpoints(fixture.db, fixture.appId))[0]?.failingSince).toBeNull()
    await fail()
    expect(await mails()).toHaveLength(2)
  })

  test('that fails a test delivery is not marked, and the test is not repeated', async () => {
    const { endpointId } = await openEndpoint(fixture, receiver.url, { events: ['export.completed'] })
    receiver.always = 500
    const delivery = await enqueueTest(fixture.db, fixture.appId, endpointId)
    if (delivery === undefined) throw new Error('no delivery')
    expect(await fixture.deliverer.deliver(delivery)).toMatchObject({ outcome: 'failed', mails: [] })
    expect((await listEndpoints(fixture.db, fixture.appId))[0]?.failingSince).toBeNull()
    expect(JSON.parse(receiver.received[0]?.body ?? '')).toMatchObject({
      type: 'webhook.test',
      data: { endpoint_id: endpointId },
    })
  })
})

describe('a delivery that is sent again', () => {
  test('goes out at once under its old webhook-id, for another three days', async () => {
    await openEndpoint(fixture, receiver.url)
    const { delivery } = await attempt()
    expect(await sendAgain(fixture.db, fixture.appId, delivery.deliveryId)).toBe(true)
    receiver.next.push(500)
    expect(await fixture.deliverer.deliver(await onlyDue())).toMatchObject({ outcome: 'postponed' })
    await makeDue(fixture)
    expect(await fixture.deliverer.deliver(await onlyDue())).toEqual({ outcome: 'delivered' })
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([delivery.deliveryId]),
    )
  })

  test('while an attempt is in flight stays with this attempt', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push('hang')
    await recordAnyEvent(fixture)
    const delivery = await onlyDue()
    const shutdown = new AbortController()
    const attempted = fixture.deliverer.deliver(delivery, shutdown.signal)
    await until('the request', () => receiver.received.length === 1)
    expect(await sendAgain(fixture.db, fixture.appId, delivery.deliveryId)).toBe(true)
    expect(await fixture.deliverer.deliver(delivery)).toEqual({ outcome: 'not due' })
    shutdown.abort()
    await attempted
  })

  test('while the process of a test is dead makes another attempt', async () => {
    const { endpointId } = await openEndpoint(fixture, receiver.url)
    const delivery = await enqueueTest(fixture.db, fixture.appId, endpointId)
    await sql`
      update webhook_deliveries set attempt = 1, tries = 1, lease_until = now(), last_attempt_at = now()
    `.execute(fixture.db)
    expect(await sendAgain(fixture.db, fixture.appId, delivery?.deliveryId ?? '')).toBe(true)
    expect(await fixture.deliverer.deliver(await onlyDue())).toEqual({ outcome: 'delivered' })
    expect(receiver.received).toHaveLength(1)
  })

  test('of another app is unknown', async () => {
    await openEndpoint(fixture, receiver.url)
    const { delivery } = await attempt()
    expect(await sendAgain(fixture.db, fixture.appId + 1, delivery.deliveryId)).toBe(false)
    expect(await sendAgain(fixture.db, fixture.appId, 'no ID')).toBe(false)
  })
})

test('a result that is recorded after its lease, while another process claims the delivery, disturbs neither', async () => {
  await openEndpoint(fixture, receiver.url)
  receiver.next.push('hang')
  await recordAnyEvent(fixture)
  await retryUntil(new Date(0))
  const delivery = await onlyDue()
  const slow = openOtherDeliverer(fixture.db, {}, { attemptTimeoutMs: 2_000 })
  const late = slow.deliver(delivery)
  await until('the first request', () => receiver.received.length === 1)
  await makeDue(fixture)
  const next = await fixture.db.transaction().execute(async (tx) => {
    await sql`select from webhook_endpoints for update`.execute(tx)
    const claiming = fixture.deliverer.deliver(delivery)
    await until('the claim', async () => (await lockWaits(fixture.db)).length === 1)
    await until('the late result', async () => (await lockWaits(fixture.db)).length === 2)
    return { claiming }
  })
  expect(await Promise.all([late, next.claiming])).toMatchObject([{ outcome: 'not due' }, { outcome: 'delivered' }])
})

test('a process whose lease ended while it waited does not overwrite the result of its successor', async () => {
  await openEndpoint(fixture, receiver.url)
  receiver.next.push('hang')
  await recordAnyEvent(fixture)
  const delivery = await onlyDue()
  const shutdown = new AbortController()
  const stale = fixture.deliverer.deliver(delivery, shutdown.signal)
  await until('the first request', () => receiver.received.length === 1)
  await makeDue(fixture)
  expect(await fixture.deliverer.deliver(delivery)).toEqual({ outcome: 'delivered' })
  shutdown.abort()
  await stale
  expect(await states(fixture)).toEqual(['delivered'])
  expect(await lastError()).toBeNull()
})
