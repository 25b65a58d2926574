import { Gunzip } from 'fflate/browser'
import { type OnRead, readParts } from './read-parts.ts'

// gzip files may have several members. A browser's own `DecompressionStream` takes everything after the first member
// for damage, and `fflate` compares no checksums. So `fflate` finds the members, and the browser unpacks each of them.

type Bytes = Uint8Array<ArrayBuffer>

/** Number of bytes that are unpacked at once: gzip may expand them by a factor of a thousand. */
const stepBytes = 8_192

/**
 * Unpacks gzip for reading only: the checksums of the members are not compared. Fails if the data cannot be unpacked.
 */
export function unpackUnchecked(packed: ReadableStream<Bytes>): ReadableStream<Bytes> {
  const gunzip = new Gunzip()
  return packed.pipeThrough(
    new TransformStream<Bytes, Bytes>({
      start(controller) {
        gunzip.ondata = (data) => {
          if (data.length > 0) controller.enqueue(data as Bytes)
        }
      },
      transform: (chunk) => pushInSteps(gunzip, chunk),
      flush: () => gunzip.push(new Uint8Array(0), true),
    }),
  )
}

/** Unpacks a gzip file, member by member. Fails if a member is damaged. Calls `onRead` with the bytes read so far. */
export function unpack(file: Blob, onRead: OnRead): ReadableStream<Bytes> {
  const { readable, writable } = new TransformStream<Bytes, Bytes>()
  const run = async () => {
    const starts = await memberStarts(file)
    for (const [index, start] of starts.entries()) {
      const member = readParts(file.slice(start, starts[index + 1]), (bytes) => onRead(start + bytes))
      await member.pipeThrough(new DecompressionStream('gzip')).pipeTo(writable, { preventClose: true })
    }
    await writable.close()
  }
  run().catch((error) => writable.abort(error).catch(() => {}))
  return readable
}

/** Returns the offset of each member of a gzip file. */
async function memberStarts(file: Blob): Promise<number[]> {
  const starts = [0]
  const gunzip = new Gunzip(() => {})
  gunzip.onmember = (offset) => {
    if (offset > 0) starts.push(offset)
  }
  const reader = (file.stream() as ReadableStream<Bytes>).getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return starts
    pushInSteps(gunzip, value)
  }
}

function pushInSteps(gunzip: Gunzip, chunk: Bytes): void {
  for (let at = 0; at < chunk.length; at += stepBytes) gunzip.push(chunk.subarray(at, at + stepBytes))
}
