import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dueDeliveries, type LookUp, openLookUp } from '@sluice/webhooks'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { runProgram } from '../environment/program.ts'
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

// second-day.md §5, Addresses.
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

interface NameServer {
  /** The IPv4 addresses of each name. Each answer takes the next list; the last list stays. */
  names: Map<string, string[][]>
  /** Names that were asked for, with the type of record: 1 is A, 28 is AAAA. */
  asked: { name: string; type: number }[]
  /** Looks up names by asking this name server only. */
  lookUp: LookUp
  close(): void
}

/** Starts a name server that knows only A records, and answers for other names that they do not exist. */
async function openNameServer(): Promise<NameServer> {
  const names = new Map<string, string[][]>()
  const asked: NameServer['asked'] = []
  const socket = createSocket('udp4')
  socket.on('message', (query, { address, port }) => {
    const { name, type, end } = questionOf(query)
    asked.push({ name, type })
    const lists = names.get(name)
    const addresses = type !== 1 || lists === undefined ? [] : ((lists.length > 1 ? lists.shift() : lists[0]) ?? [])
    const header = Buffer.alloc(12)
    query.copy(header, 0, 0, 2)
    header.writeUInt16BE(lists === undefined ? 0x8183 : 0x8180, 2)
    header.writeUInt16BE(1, 4)
    header.writeUInt16BE(addresses.length, 6)
    socket.send(Buffer.concat([header, query.subarray(12, end), ...addresses.map(record)]), port, address)
  })
  socket.bind(0, '127.0.0.1')
  await once(socket, 'listening')
  const lookUp = openLookUp([`127.0.0.1:${socket.address().port}`])
  return { names, asked, lookUp, close: () => socket.close() }
}

/** Returns the first question of a query, and the position after it. */
function questionOf(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = []
  let position = 12
  for (let length = query[position] ?? 0; length > 0; length = query[position] ?? 0) {
    labels.push(query.toString('ascii', position + 1, position + 1 + length))
    position += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(position + 1), end: position + 5 }
}

/** Returns an A record of the asked name, which is not to be kept. */
function record(address: string): Buffer {
  return Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split('.').map(Number)])
}
