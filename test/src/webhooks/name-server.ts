import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { type LookUp, openLookUp } from '@sluice/webhooks'

export interface NameServer {
  /** The IPv4 addresses of each name. Each answer takes the next list; the last list stays. */
  names: Map<string, string[][]>
  /** Names that were asked for, with the type of record: 1 is A, 28 is AAAA. */
  asked: { name: string; type: number }[]
  /** Looks up names by asking this name server only. */
  lookUp: LookUp
  close(): void
}

/** Starts a name server that knows only A records, and answers for other names that they do not exist. */
export async function openNameServer(): Promise<NameServer> {
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
