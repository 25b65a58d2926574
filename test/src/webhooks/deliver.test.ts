import { sql } from '@sluice/database'
import { dueDeliveries, enqueueTest, listDeliveries, sendAgain } from '@sluice/webhooks'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import {
  attempt,
  eachWithReceiver,
  makeDue,
  onlyDue,
  openEndpoint,
  openOtherDeliverer,
  openWebhookFixture,
  recordAnyEvent,
  retryUntil,
  states,
} from './webhook-fixture.ts'

// A delivery reaches its receiver at least once, under one webhook-id, whatever the receiver does.
const { fixture, receiver } = eachWithReceiver()

const newest = async () => (await listDeliveries(fixture.db, fixture.appId, 1)).deliveries[0]
const lastError = async () => (await newest())?.error
const attempts = async () => (await newest())?.attempts

// second-day.md §5, Tries.
describe('a delivery', () => {
  test('is JSON with type, timestamp and data, and its signature is valid for the secret of the endpoint', async () => {
    const { secret } = await openEndpoint(fixture, receiver.url)
    const { delivery, result } = await attempt(fixture)
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
    const delivery = await onlyDue(fixture)
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
    await expect(attempt(fixture)).rejects.toThrow('no success today')
    expect(receiver.received).toHaveLength(1)
    expect(await lastError()).toBeNull()
    await sql`drop trigger refuse on webhook_deliveries; drop function refuse`.execute(fixture.db)
    await makeDue(fixture)
    expect(await fixture.deliverer.deliver(await onlyDue(fixture))).toEqual({ outcome: 'delivered' })
    expect(receiver.received[1]?.headers['webhook-id']).toBe(receiver.received[0]?.headers['webhook-id'])
  })

  test('that got 500 is sent again after a pause, under the same webhook-id and with the same body', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push(500)
    const { delivery, result } = await attempt(fixture)
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
    const { result } = await attempt(fixture)
    expect(result).toMatchObject({ outcome: 'postponed', error: expect.stringMatching(error) })
    expect(receiver.received).toHaveLength(1)
  })

  test('counts as delivered when 2xx comes; an endless answer is cut off', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push('endless body')
    expect((await attempt(fixture)).result).toEqual({ outcome: 'delivered' })
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

  test('is released when its process stops, is due at once, and does not count that attempt', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push('hang')
    await recordAnyEvent(fixture)
    const delivery = await onlyDue(fixture)
    const shutdown = new AbortController()
    const attempted = fixture.deliverer.deliver(delivery, shutdown.signal)
    await until('the request', () => receiver.received.length === 1)
    shutdown.abort()
    expect(await attempted).toEqual({ outcome: 'released' })
    expect(await attempts()).toBe(0)
    expect(await fixture.deliverer.deliver(await onlyDue(fixture))).toEqual({ outcome: 'delivered' })
    expect(await attempts()).toBe(1)
  })
})

describe('pauses', () => {
  test('double from 5 s up to four hours, with jitter', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.always = 500
    await recordAnyEvent(fixture)
    const delivery = await onlyDue(fixture)
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
      const { delivery } = await attempt(fixture)
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
    await retryUntil(fixture, new Date(Date.now() + 2_000))
    await fixture.deliverer.deliver(await onlyDue(fixture))
    expect(await pause()).toBeLessThanOrEqual(2)
  })

  async function pause(): Promise<number> {
    const { rows } = await sql<{ seconds: number }>`
      select extract(epoch from next_attempt_at - now())::float8 as seconds from webhook_deliveries
    `.execute(fixture.db)
    return rows[0]?.seconds ?? 0
  }
})

describe('a delivery that is sent again', () => {
  test('goes out at once under its old webhook-id, for another three days', async () => {
    await openEndpoint(fixture, receiver.url)
    const { delivery } = await attempt(fixture)
    expect(await sendAgain(fixture.db, fixture.appId, delivery.deliveryId)).toBe(true)
    receiver.next.push(500)
    expect(await fixture.deliverer.deliver(await onlyDue(fixture))).toMatchObject({ outcome: 'postponed' })
    await makeDue(fixture)
    expect(await fixture.deliverer.deliver(await onlyDue(fixture))).toEqual({ outcome: 'delivered' })
    expect(new Set(receiver.received.map(({ headers }) => headers['webhook-id']))).toEqual(
      new Set([delivery.deliveryId]),
    )
  })

  test('while an attempt is in flight stays with this attempt', async () => {
    await openEndpoint(fixture, receiver.url)
    receiver.next.push('hang')
    await recordAnyEvent(fixture)
    const delivery = await onlyDue(fixture)
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
    expect(await fixture.deliverer.deliver(await onlyDue(fixture))).toEqual({ outcome: 'delivered' })
    expect(receiver.received).toHaveLength(1)
  })

  test('of another app is unknown', async () => {
    await openEndpoint(fixture, receiver.url)
    const { delivery } = await attempt(fixture)
    expect(await sendAgain(fixture.db, fixture.appId + 1, delivery.deliveryId)).toBe(false)
    expect(await sendAgain(fixture.db, fixture.appId, 'no ID')).toBe(false)
  })
})

test('a result that is recorded after its lease, while another process claims the delivery, disturbs neither', async () => {
  await openEndpoint(fixture, receiver.url)
  receiver.next.push('hang')
  await recordAnyEvent(fixture)
  await retryUntil(fixture, new Date(0))
  const delivery = await onlyDue(fixture)
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
  const delivery = await onlyDue(fixture)
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
