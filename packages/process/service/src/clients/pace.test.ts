import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { openPace } from './pace.ts'

const chunkBytes = 1_000
const bodyOf = (chunks: number) => Readable.from(Array.from({ length: chunks }, () => Buffer.alloc(chunkBytes)))

async function read(chunks: AsyncIterable<Uint8Array>): Promise<number> {
  let bytes = 0
  for await (const chunk of chunks) bytes += chunk.length
  return bytes
}

test('two bodies of one owner together keep the pace after a burst; every byte passes, and other owners do not wait', async () => {
  const paced = openPace({ bytesPerSecond: 100_000, burstBytes: 5 * chunkBytes })
  const began = performance.now()
  const order: string[] = []
  const send = async (what: string, owner: number, chunks: number) => {
    expect(await read(paced(owner, bodyOf(chunks)))).toBe(chunks * chunkBytes)
    order.push(what)
  }
  await Promise.all([send('one', 1, 10), send('another', 1, 10), send('other owner', 2, 5)])
  expect(order[0]).toBe('other owner')
  // 20 chunks of 10 ms each, 5 of them in the burst. The timer of each wait may end up to a millisecond early.
  expect(performance.now() - began).toBeGreaterThan(150 - 1)
})

test('an error of the body reaches its reader', async () => {
  const paced = openPace({ bytesPerSecond: 100_000, burstBytes: chunkBytes })
  async function* broken() {
    yield Buffer.alloc(chunkBytes)
    throw new Error('cut off')
  }
  await expect(read(paced(1, broken()))).rejects.toThrow('cut off')
})
