import { anyAnswer, type Unit, type UnitReader, withoutIds } from './unit.ts'

const headEnd = '\r\n\r\n'
const lastChunk = '0\r\n\r\n'

/** Reads the requests of an S3 client. The head and the body of a request are a unit each. */
export function readHttpUnits(): UnitReader {
  let rest: Buffer = Buffer.alloc(0)
  /** The body that follows a head: its length in bytes or `chunked`, and the label of the request. */
  let body: { bytes: number | 'chunked'; label: string | undefined } | undefined

  function takeHead(): Unit | undefined {
    const end = rest.indexOf(headEnd)
    if (end === -1) return undefined
    const head = rest.toString('latin1', 0, end)
    const [method = '', address = ''] = head.split(' ', 2)
    const label = method === 'GET' || method === 'HEAD' ? undefined : `${method} ${withoutSigning(address)}`
    const isChunked = /\r\ntransfer-encoding: *chunked/i.test(head)
    const bytes = isChunked ? 'chunked' : Number(/\r\ncontent-length: *(\d+)/i.exec(head)?.[1] ?? 0)
    if (bytes !== 0) body = { bytes, label: label && `${label}, its body` }
    return take(end + headEnd.length, label, bytes === 0)
  }

  function takeBody({ bytes, label }: { bytes: number | 'chunked'; label: string | undefined }): Unit | undefined {
    const end = bytes === 'chunked' ? endOfChunks(rest) : bytes
    if (end === undefined || rest.length < end) return undefined
    body = undefined
    return take(end, label, true)
  }

  function take(end: number, label: string | undefined, answered: boolean): Unit {
    const unit = { bytes: rest.subarray(0, end), label, answered }
    rest = rest.subarray(end)
    return unit
  }

  return {
    push(chunk) {
      rest = Buffer.concat([rest, chunk])
      const units: Unit[] = []
      for (;;) {
        const unit = body === undefined ? takeHead() : takeBody(body)
        if (unit === undefined) return units
        units.push(unit)
      }
    },
    awaitAnswer: anyAnswer,
  }
}

function endOfChunks(bytes: Buffer): number | undefined {
  const start = bytes.indexOf(lastChunk)
  return start === -1 ? undefined : start + lastChunk.length
}

/** Returns an address without IDs, numbers and the query parameters of its signature. */
function withoutSigning(address: string): string {
  return withoutIds(address.replace(/[?&](?:X-Amz-[^&]*|x-id=[^&]*)/gi, '').replace(/uploadId=[^&]*/, 'uploadId=*'))
}
