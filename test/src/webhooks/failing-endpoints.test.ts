import { sql } from '@sluice/database'
import { dueDeliveries, enableEndpoint, enqueueTest, listEndpoints } from '@sluice/webhooks'
import { describe, expect, test } from 'vitest'
import {
  attempt,
  eachWithReceiver,
  makeDue,
  onlyDue,
  openEndpoint,
  recordAnyEvent,
  retryUntil,
  states,
} from './webhook-fixture.ts'

// What becomes of an endpoint whose receiver fails for days or refuses, and how it recovers.
const { fixture, receiver } = eachWithReceiver()

/** Makes one attempt of each delivery that is due. */
async function attemptAll() {
  const due = await dueDeliveries(fixture.db, 10)
  return await Promise.all(due.map((delivery) => fixture.deliverer.deliver(delivery)))
}

const mails = () => fixture.db.selectFrom('mails').select(['recipient', 'subject', 'text']).execute()

describe('an endpoint', () => {
  // second-day.md §5, Failing endpoints.
  test('is failing after three days without success, and each member gets one mail about it', async () => {
    await fixture.db.insertInto('members').values({ app_id: fixture.appId, email: 'bob@example.com' }).execute()
    await openEndpoint(fixture, `${receiver.url}?key=hidden`)
    receiver.always = 500
    await recordAnyEvent(fixture)
    await recordAnyEvent(fixture)
    await retryUntil(fixture, new Date(0))
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
    expect(await fixture.deliverer.deliver(await onlyDue(fixture))).toMatchObject({ outcome: 'postponed' })
    expect(await endpoint()).toMatchObject({ erringSince: expect.any(Date), failingSince: null })
    const firstTry = new Date('2026-01-01T00:00:00Z')
    await fixture.db.updateTable('webhook_endpoints').set({ erring_since: firstTry }).execute()
    await retryUntil(fixture, new Date(0))
    await makeDue(fixture)
    receiver.next.push(500)
    expect(await fixture.deliverer.deliver(await onlyDue(fixture))).toMatchObject({ outcome: 'failed' })
    expect(await endpoint()).toMatchObject({ failingSince: firstTry })
    expect((await attempt(fixture)).result).toEqual({ outcome: 'delivered' })
    expect(await endpoint()).toMatchObject({ erringSince: null, failingSince: null })
  })

  test('is failing, too, if the process of the last attempt died', async () => {
    await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    const delivery = await onlyDue(fixture)
    await sql`
      update webhook_deliveries
      set tries = 10, lease_until = now(), next_attempt_at = now(), last_attempt_at = now() - interval '20 s'
    `.execute(fixture.db)
    await retryUntil(fixture, new Date(0))
    expect(await fixture.deliverer.deliver(delivery)).toMatchObject({ outcome: 'failed', mails: [{}] })
    expect(receiver.received).toEqual([])
  })

  test('gets the last attempt after three days, if the process of the preceding attempt died', async () => {
    await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    const delivery = await onlyDue(fixture)
    await sql`
      update webhook_deliveries
      set lease_until = now(), last_attempt_at = now() - interval '2 days', retry_until = now() - interval '1 day'
    `.execute(fixture.db)
    expect(await fixture.deliverer.deliver(delivery)).toEqual({ outcome: 'delivered' })
  })

  // second-day.md §5, Tries.
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
    expect((await attempt(fixture)).result).toEqual({ outcome: 'delivered' })
  })

  test('recovers, although Postgres breaks off while the success is recorded', async () => {
    await openEndpoint(fixture, receiver.url)
    await sql`update webhook_endpoints set failing_since = now()`.execute(fixture.db)
    await sql`alter table webhook_endpoints add constraint breaks_off check (failing_since is not null)`.execute(
      fixture.db,
    )
    await expect(attempt(fixture)).rejects.toThrow('breaks_off')
    await sql`alter table webhook_endpoints drop constraint breaks_off`.execute(fixture.db)
    await makeDue(fixture)
    await attemptAll()
    expect((await listEndpoints(fixture.db, fixture.appId))[0]?.failingSince).toBeNull()
  })

  test('recovers with the next success, and the next failure is mailed again', async () => {
    await openEndpoint(fixture, receiver.url)
    const fail = async () => {
      await recordAnyEvent(fixture)
      await retryUntil(fixture, new Date(0))
      receiver.next.push(500)
      expect(await fixture.deliverer.deliver(await onlyDue(fixture))).toMatchObject({ outcome: 'failed' })
    }
    await fail()
    expect(await mails()).toHaveLength(1)
    expect((await attempt(fixture)).result).toEqual({ outcome: 'delivered' })
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
