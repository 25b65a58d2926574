import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { describe, expect, test } from 'vitest'

import { eachOnDataImport, head, limitBytes, multipart, tail } from './data-import-fixture.ts'

// Uploads of the largest size through the plain form, and of more.

const { dashboard, app, visitor, importsOf } = eachOnDataImport(['u1'])

test('a file of exactly 150 MiB is accepted', async () => {
  const answer = await visitor.postBody(app.page, formWithFile(limitBytes), multipart, app.page)
  expect(answer.status).toBe(303)
  const [upload] = await importsOf()
  expect(upload).toMatchObject({
    import_id: answer.headers.get('location')?.split('/').at(-1),
    state: 'queued',
    byte_size: limitBytes,
  })
  const key = upload?.object_key ?? ''
  expect(await dashboard.storage.stat(key)).toMatchObject({ byteSize: limitBytes })
  await dashboard.storage.removeAll(key)
})

test('a file of one byte more than 150 MiB, without being kept in memory as a whole', async () => {
  // Without a collection, memory that is free again would count: this process runs other tests, too.
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const memoryInUse = () => {
    collect()
    return process.memoryUsage().arrayBuffers
  }
  const before = memoryInUse()
  let peak = 0
  const form = formWithFile(limitBytes + 1, () => {
    peak = Math.max(peak, memoryInUse())
  })
  const answer = await visitor.postBody(app.page, form, multipart, app.page)
  expect(answer.status).toBe(413)
  expect(answer.text).toContain('over the limit of 150 MB')
  expect(await importsOf()).toEqual([])
  expect(peak - before).toBeLessThan(limitBytes / 2)
})

describe('a refused upload leaves no trace', () => {
  // A form may have a megabyte of other fields, so its declared length does not tell.
  test('a file a little over the limit, which is seen only while it is read', async () => {
    const answer = await visitor.postFile(app.page, 'large.csv', new Blob([Buffer.alloc(limitBytes + 100_000)]))
    expect(answer.status).toBe(413)
    expect(await importsOf()).toEqual([])
  })
})

/** Streams a form whose file has exactly `bytes` bytes. Calls `onChunk` before each chunk of 1 MiB. */
function formWithFile(bytes: number, onChunk: () => void = () => {}): ReadableStream<Uint8Array> {
  const chunk = Buffer.alloc(2 ** 20, 'somebody,1\n')
  const parts = (async function* () {
    yield Buffer.from(head)
    for (let left = bytes; left > 0; left -= chunk.length) {
      onChunk()
      yield chunk.subarray(0, left)
    }
    yield Buffer.from(tail)
  })()
  return ReadableStream.from(parts)
}
