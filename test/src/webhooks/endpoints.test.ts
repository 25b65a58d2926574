import { randomBytes } from 'node:crypto'
import { UnknownApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import {
  addEndpoint,
  clearRemovedEndpoints,
  dueDeliveries,
  EndpointRefused,
  enqueueTest,
  listDeliveries,
  listEndpoints,
  openDeliverer,
  reencryptEndpointSecrets,
  removeEndpoint,
  rotateSecret,
} from '@sluice/webhooks'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { eachWithReceiver, localRule, localSettings, onlyDue, openEndpoint, recordAnyEvent } from './webhook-fixture.ts'

const { fixture, receiver } = eachWithReceiver()

const keys = localSettings.ENCRYPTION_KEYS
const add = (url: string, events?: string[]) =>
  addEndpoint(fixture.db, { keys, rule: localRule }, fixture.appId, { url, events })
const url = 'https://example.com/hook'

/** Returns whether the receiver's next delivery is signed with a secret. */
async function isSignedWith(secret: string, deliverer = fixture.deliverer): Promise<boolean> {
  await recordAnyEvent(fixture)
  const [delivery] = await dueDeliveries(fixture.db, 1)
  if (delivery === undefined) throw new Error('nothing is due')
  expect(await deliverer.deliver(delivery)).toEqual({ outcome: 'delivered' })
  const { headers, body } = receiver.received.at(-1) ?? { headers: {}, body: '' }
  try {
    new Webhook(secret).verify(body, headers as Record<string, string>)
    return true
  } catch {
    return false
  }
}

// second-day.md §5, Endpoints.
describe('an endpoint', () => {
  test('has all events unless it chooses some', async () => {
    expect((await add(url)).events).toHaveLength(7)
    expect((await add(url, ['deletion.completed', 'import.failed'])).events).toEqual([
      'import.failed',
      'deletion.completed',
    ])
  })

  test.each([
    ['an event that does not exist', url, ['import.started'], 'there is no event "import.started"'],
    ['no event', url, [], 'choose at least one event'],
    ['a URL with a password', 'https://a:b@example.com/', undefined, 'no user and no password'],
    ['a private address', 'https://10.0.0.1/', undefined, 'not public'],
  ])('with %s is refused', async (_, address, events, message) => {
    const added = add(address, events)
    await expect(added).rejects.toThrow(EndpointRefused)
    await expect(added).rejects.toThrow(message)
    expect(await listEndpoints(fixture.db, fixture.appId)).toEqual([])
  })

  test('of an app that does not exist is refused', async () => {
    await expect(addEndpoint(fixture.db, { keys, rule: localRule }, 999, { url })).rejects.toThrow(UnknownApp)
  })

  test('is one of at most ten, however many are added at once; removed ones do not count', async () => {
    const added = await Promise.allSettled(Array.from({ length: 14 }, () => add(url)))
    const [first] = added.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []))
    expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(10)
    expect(await removeEndpoint(fixture.db, fixture.appId, first?.endpointId ?? '')).toBe(true)
    expect((await add(url)).secret).toMatch(/^whsec_/)
  })

  test('that is removed gets nothing more, loses its secret at once, and later its deliveries', async () => {
    const { endpointId } = await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    const delivery = await onlyDue(fixture)
    expect(await removeEndpoint(fixture.db, fixture.appId, endpointId)).toBe(true)
    expect(await removeEndpoint(fixture.db, fixture.appId, endpointId)).toBe(false)
    await recordAnyEvent(fixture)
    expect(await dueDeliveries(fixture.db, 10)).toEqual([])
    expect(await fixture.deliverer.deliver(delivery)).toEqual({ outcome: 'not due' })
    expect(await enqueueTest(fixture.db, fixture.appId, endpointId)).toBeUndefined()
    expect(await rotateSecret(fixture.db, keys, fixture.appId, endpointId)).toBeUndefined()
    expect(await listEndpoints(fixture.db, fixture.appId)).toEqual([])
    expect((await listDeliveries(fixture.db, fixture.appId, 10)).deliveries).toEqual([])
    const row = await fixture.db.selectFrom('webhook_endpoints').select('encrypted_secret').executeTakeFirstOrThrow()
    expect(row.encrypted_secret).toHaveLength(0)
    expect(await clearRemovedEndpoints(fixture.db, undefined)).toBe(1)
    expect(await fixture.db.selectFrom('webhook_deliveries').select('event').execute()).toEqual([])
    expect(receiver.received).toEqual([])
  })

  test('of another app can be neither removed, rotated nor tested', async () => {
    const { endpointId } = await openEndpoint(fixture, receiver.url)
    const other = fixture.appId + 1
    expect(await removeEndpoint(fixture.db, other, endpointId)).toBe(false)
    expect(await rotateSecret(fixture.db, keys, other, endpointId)).toBeUndefined()
    expect(await enqueueTest(fixture.db, other, endpointId)).toBeUndefined()
    for (const text of ['', 'x', `${endpointId}'`]) {
      expect(await removeEndpoint(fixture.db, fixture.appId, text)).toBe(false)
    }
  })
})

describe('a secret', () => {
  // second-day.md §5, Endpoints.
  test('is not in the database in plain text', async () => {
    const { secret } = await openEndpoint(fixture, receiver.url)
    const { encrypted_secret: stored } = await fixture.db
      .selectFrom('webhook_endpoints')
      .select('encrypted_secret')
      .executeTakeFirstOrThrow()
    expect(stored.includes(Buffer.from(secret.slice(6)))).toBe(false)
    expect(stored.includes(Buffer.from(secret.slice(6), 'base64'))).toBe(false)
  })

  // second-day.md §5, Endpoints.
  test('that replaces another signs every attempt from now on', async () => {
    const { endpointId, secret } = await openEndpoint(fixture, receiver.url)
    expect(await isSignedWith(secret)).toBe(true)
    // People may copy an ID in capitals.
    const rotated = await rotateSecret(fixture.db, keys, fixture.appId, endpointId.toUpperCase())
    expect(await isSignedWith(rotated ?? '')).toBe(true)
    // For a day, receivers that still have the old one accept the requests as well. The new signature comes first.
    expect(await isSignedWith(secret)).toBe(true)
    const [first = ''] = String(receiver.received.at(-1)?.headers['webhook-signature']).split(' ')
    const { headers, body } = receiver.received.at(-1) ?? { headers: {}, body: '' }
    const onlyFirst = { ...(headers as Record<string, string>), 'webhook-signature': first }
    expect(() => new Webhook(rotated ?? '').verify(body, onlyFirst)).not.toThrow()
    await sql`update webhook_endpoints set rotated_at = rotated_at - interval '24 hours'`.execute(fixture.db)
    expect(await isSignedWith(secret)).toBe(false)
  })

  test('stays the same when ENCRYPTION_KEYS are rotated, and needs only the new key afterwards', async () => {
    const { endpointId } = await openEndpoint(fixture, receiver.url)
    const secret = (await rotateSecret(fixture.db, keys, fixture.appId, endpointId)) ?? ''
    const added = randomBytes(32)
    expect(await reencryptEndpointSecrets(fixture.db, [added, ...keys])).toBe(2)
    expect(await reencryptEndpointSecrets(fixture.db, [added, ...keys])).toBe(0)
    const deliverer = openDeliverer(fixture.db, { ...localSettings, ENCRYPTION_KEYS: [added] })
    expect(await isSignedWith(secret, deliverer)).toBe(true)
  })

  test('whose key is missing makes attempts fail, and is not lost', async () => {
    const { secret } = await openEndpoint(fixture, receiver.url)
    await recordAnyEvent(fixture)
    const delivery = await onlyDue(fixture)
    const without = openDeliverer(fixture.db, { ...localSettings, ENCRYPTION_KEYS: [randomBytes(32)] })
    const result = await without.deliver(delivery)
    expect(result).toMatchObject({ outcome: 'postponed', error: expect.stringContaining('cannot be decrypted') })
    expect(await isSignedWith(secret)).toBe(true)
  })
})
