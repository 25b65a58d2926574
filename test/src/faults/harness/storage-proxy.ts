import { once } from 'node:events'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { pipeline, Transform } from 'node:stream'
import { listenOn } from '../../environment/free-port.ts'

/**
 * A fault in one request to storage:
 * - `answer`: an error response
 * - `cut request`, `cut answer`: the connection breaks after some bytes of the body
 * - `stalled answer`: the response stops after some bytes, and the connection stays open
 * - `hold`: the request waits until a promise settles
 */
export type StorageFault =
  | { kind: 'answer'; status: number; code: string }
  | { kind: 'cut request' | 'cut answer' | 'stalled answer'; afterBytes: number }
  | { kind: 'hold'; until: Promise<unknown> }

/** The parts of a request that faults depend on. `copySource` is the bucket and key of a copy's source. */
interface FaultyRequest {
  method: string
  path: string
  copySource: string | undefined
}

/** Returns the fault for a request, or undefined to forward it unchanged. */
type StorageFaults = (request: FaultyRequest) => StorageFault | undefined

/** An HTTP proxy that injects faults into requests to object storage. */
export interface StorageProxy {
  port: number
  set(faults: StorageFaults | undefined): void
  close(): Promise<void>
}

/**
 * Starts a proxy in front of the storage on a port of 127.0.0.1. Signatures stay valid because no header is changed.
 */
export async function startStorageProxy(storagePort: number): Promise<StorageProxy> {
  let faults: StorageFaults | undefined
  const server = createServer((incoming, answer) => {
    // Reads the socket now: a fault may occur after the request has ended, when the request has no socket any more.
    const { method = '', url = '', socket, headers } = incoming
    const source = headers['x-amz-copy-source']
    const copySource = typeof source === 'string' ? decodeURIComponent(source) : undefined
    const fault = faults?.({ method, path: url.split('?', 1)[0] ?? '', copySource })
    serve(incoming, answer, storagePort, fault).catch(() => socket.resetAndDestroy())
  })
  const port = await listenOn(server)
  return {
    port,
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
    answer.end(`<Error><Code>${fault.code}</Code><Message>simulated</Message></Error>`)
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

/**
 * Forwards bytes up to the limit of the fault, then fails or stalls. Forwards all bytes if the fault is of another
 * kind.
 */
function breaking(fault: StorageFault | undefined, ...kinds: StorageFault['kind'][]): Transform {
  const applies = fault !== undefined && 'afterBytes' in fault && kinds.includes(fault.kind)
  const maxBytes = applies ? fault.afterBytes : Number.POSITIVE_INFINITY
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      bytes += chunk.length
      if (bytes <= maxBytes) return done(null, chunk)
      this.push(chunk.subarray(0, chunk.length - (bytes - maxBytes)))
      if (fault?.kind !== 'stalled answer') setImmediate(() => done(new Error('simulated cut')))
    },
  })
}
