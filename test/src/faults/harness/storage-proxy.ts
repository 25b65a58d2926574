import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline, Transform } from 'node:stream'

/**
 * What storage does to one request: answers it with an error, cuts its body or the body of the answer after some bytes,
 * falls silent after some bytes of the answer, or holds the request back until a promise settles.
 */
export type StorageFault =
  | { kind: 'answer'; status: number; code: string }
  | { kind: 'cut request' | 'cut answer' | 'stalled answer'; afterBytes: number }
  | { kind: 'hold'; until: Promise<unknown> }

/** A request, as far as faults depend on it; `copySource` is bucket and key of what a copy is made of. */
interface FaultyRequest {
  method: string
  path: string
  copySource: string | undefined
}

/** Decides what happens to a request; undefined lets it through. */
type StorageFaults = (request: FaultyRequest) => StorageFault | undefined

/** An HTTP proxy in front of object storage, which breaks requests as it is told. */
export interface StorageProxy {
  port: number
  set(faults: StorageFaults | undefined): void
  close(): Promise<void>
}

/** Starts a proxy in front of the storage on a port of 127.0.0.1. Signatures stay good: it changes no header. */
export async function startStorageProxy(storagePort: number): Promise<StorageProxy> {
  let faults: StorageFaults | undefined
  const server = createServer((incoming, answer) => {
    // Its connection, as long as there is one: an error may come after the end.
    const { method = '', url = '', socket, headers } = incoming
    const source = headers['x-amz-copy-source']
    const copySource = typeof source === 'string' ? decodeURIComponent(source) : undefined
    const fault = faults?.({ method, path: url.split('?', 1)[0] ?? '', copySource })
    serve(incoming, answer, storagePort, fault).catch(() => socket.resetAndDestroy())
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    port: (server.address() as AddressInfo).port,
    set(next) {
      faults = next
    },
    async close() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

async function serve(
  incoming: IncomingMessage,
  answer: ServerResponse,
  port: number,
  fault: StorageFault | undefined,
): Promise<void> {
  if (fault?.kind === 'answer') {
    incoming.resume()
    answer.writeHead(fault.status, { 'Content-Type': 'application/xml' })
    answer.end(`<Error><Code>${fault.code}</Code><Message>as told</Message></Error>`)
    return
  }
  if (fault?.kind === 'hold') await fault.until
  const onward = request({
    host: '127.0.0.1',
    port,
    method: incoming.method,
    path: incoming.url,
    headers: incoming.rawHeaders,
    setHost: false,
  })
  const { socket } = incoming
  const failed = () => {
    socket.resetAndDestroy()
    onward.destroy()
  }
  onward.on('error', failed)
  pipeline(incoming, breaking(fault, 'cut request'), onward, (error) => {
    if (error) failed()
  })
  const [response] = (await once(onward, 'response')) as [IncomingMessage]
  answer.writeHead(response.statusCode ?? 500, response.rawHeaders)
  pipeline(response, breaking(fault, 'cut answer', 'stalled answer'), answer, (error) => {
    if (error) failed()
  })
}

/** Lets bytes through until the fault, if it is one of these kinds, has it fail or go no further. */
function breaking(fault: StorageFault | undefined, ...kinds: StorageFault['kind'][]): Transform {
  const isMeant = fault !== undefined && 'afterBytes' in fault && kinds.includes(fault.kind)
  const most = isMeant ? fault.afterBytes : Number.POSITIVE_INFINITY
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes <= most) return done(null, chunk)
      this.push(chunk.subarray(0, chunk.length - (bytes - most)))
      if (fault?.kind !== 'stalled answer') setImmediate(() => done(new Error('cut as told')))
    },
  })
}
