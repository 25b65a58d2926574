import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dueDeliveries } from '@sluice/webhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runProgram } from '../environment/program.ts'
import { type NameServer, openNameServer } from './name-server.ts'
import { openReceiver, type Receiver } from './receiver.ts'
import {
  makeDue,
  openEndpoint,
  openOtherDeliverer,
  openWebhookFixture,
  recordAnyEvent,
  type WebhookFixture,
} from './webhook-fixture.ts'

// No request reaches an address that is not public, and no receiver is trusted without its certificate.
let names: NameServer
let fixture: WebhookFixture
let receiver: Receiver
beforeEach(async () => {
  names = await openNameServer()
  fixture = await openWebhookFixture({ lookUp: names.lookUp })
  receiver = await openReceiver()
})
afterEach(async () => {
  await receiver.close()
  await fixture.close()
  names.close()
})

/** Makes one attempt to deliver an event to an endpoint. */
async function attempt(deliverer = fixture.deliverer) {
  const due = await dueDeliveries(fixture.db, 10)
  if (due.length === 0) await recordAnyEvent(fixture)
  const [delivery] = await dueDeliveries(fixture.db, 10)
  if (delivery === undefined) throw new Error('nothing is due')
  return await deliverer.deliver(delivery)
}

/** A private address that is not in WEBHOOK_ALLOW_NETWORKS. */
const forbidden = '10.1.2.3'
const refused = { outcome: 'postponed', error: expect.stringContaining('not public') }

// second-day.md §5.
describe('the host of an endpoint', () => {
  test('is looked up for each attempt: a name that leads to a private address at the second one is refused', async () => {
    names.names.set('hook.test', [['127.0.0.1'], [forbidden]])
    await openEndpoint(fixture, `http://hook.test:${receiver.port}/`)
    receiver.next.push(500)
    expect(await attempt()).toMatchObject({ outcome: 'postponed', error: 'the receiver answered 500' })
    await makeDue(fixture)
    expect(await attempt()).toMatchObject(refused)
    expect(receiver.received).toHaveLength(1)
  })

  test('is pinned: the connection uses the checked address, whatever the name server would answer next', async () => {
    names.names.set('hook.test', [['127.0.0.1'], [forbidden]])
    await openEndpoint(fixture, `http://hook.test:${receiver.port}/`)
    expect(await attempt()).toEqual({ outcome: 'delivered' })
    expect(names.asked.filter(({ type }) => type === 1)).toHaveLength(1)
    expect(receiver.received[0]?.headers.host).toBe(`hook.test:${receiver.port}`)
  })

  test('is refused if any of its addresses is not public', async () => {
    names.names.set('hook.test', [['127.0.0.1', forbidden]])
    await openEndpoint(fixture, `http://hook.test:${receiver.port}/`)
    expect(await attempt()).toMatchObject(refused)
    expect(receiver.received).toEqual([])
  })

  test('that has no address is tried again, and looks like one with a private address', async () => {
    await openEndpoint(fixture, 'http://unknown.test/')
    expect(await attempt()).toMatchObject(refused)
  })

  test('may be localhost if its network is allowed', async () => {
    await openEndpoint(fixture, `http://localhost:${receiver.port}/`)
    expect(await attempt()).toEqual({ outcome: 'delivered' })
    expect(names.asked).toEqual([])
  })
})

test.each([
  ['an address that is not allowed any more', { WEBHOOK_ALLOW_NETWORKS: '' }, 'not public'],
  ['http that is not allowed any more', { WEBHOOK_ALLOW_HTTP: 'false' }, 'the URL is not https'],
])('an endpoint with %s gets no request', async (_, changed, error) => {
  await openEndpoint(fixture, receiver.url)
  const stricter = openOtherDeliverer(fixture.db, changed)
  expect(await attempt(stricter)).toMatchObject({ outcome: 'postponed', error: expect.stringContaining(error) })
  expect(receiver.received).toEqual([])
})

describe('a receiver with TLS', () => {
  let folder: string
  let pair: { key: string; cert: string }
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-webhooks-'))
    const [key, cert] = [join(folder, 'key.pem'), join(folder, 'cert.pem')]
    const args = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '2']
    const subject = ['-subj', '/CN=hook.test', '-addext', 'subjectAltName=DNS:hook.test']
    const { code, output } = await runProgram('openssl', [...args, ...subject, '-keyout', key, '-out', cert])
    if (code !== 0) throw new Error(output)
    pair = { key: await readFile(key, 'utf8'), cert: await readFile(cert, 'utf8') }
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  async function openTlsReceiver(host: string): Promise<Receiver> {
    const secure = await openReceiver(pair)
    names.names.set(host, [['127.0.0.1']])
    await openEndpoint(fixture, `https://${host}:${secure.port}/`)
    return secure
  }

  const trusting = () => openOtherDeliverer(fixture.db, {}, { lookUp: names.lookUp, ca: pair.cert })

  test('gets deliveries if its certificate is valid for the name in the URL', async () => {
    const secure = await openTlsReceiver('hook.test')
    expect(await attempt(trusting())).toEqual({ outcome: 'delivered' })
    expect(secure.received).toHaveLength(1)
    await secure.close()
  })

  test('gets nothing if its certificate is for another name', async () => {
    const secure = await openTlsReceiver('other.test')
    expect(await attempt(trusting())).toMatchObject({ outcome: 'postponed', error: expect.stringMatching(/altnames/) })
    expect(secure.received).toEqual([])
    await secure.close()
  })

  test('gets nothing if nobody known has signed its certificate', async () => {
    const secure = await openTlsReceiver('hook.test')
    expect(await attempt()).toMatchObject({ outcome: 'postponed', error: expect.stringMatching(/self.signed/) })
    expect(secure.received).toEqual([])
    await secure.close()
  })
})
