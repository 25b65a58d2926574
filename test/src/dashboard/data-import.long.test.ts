import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openAppWith } from './import-runs.ts'
import { openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { signIn, type Visitor } from './visitor.ts'

// Uploads of the largest size through the plain form, and of more.
const limitBytes = 150 * 2 ** 20
const boundary = 'the-boundary'
const multipart = { 'Content-Type': `multipart/form-data; boundary=${boundary}` }
const head = `--${boundary}\r\nContent-Disposition: form-data; name="file"; filename="people.csv"\r\nContent-Type: text/csv\r\n\r\n`
const tail = `\r\n--${boundary}--\r\n`

let dashboard: TestDashboard
let appId: number
let visitor: Visitor
let page: string
beforeAll(async () => {
  dashboard = await openTestDashboard()
})
afterAll(() => dashboard.close())
beforeEach(async () => {
  const app = await openAppWith(dashboard, ['u1'])
  appId = app.appId
  page = `/apps/${appId}/data-import`
  visitor = await signIn(dashboard, app.email)
})

const importsOf = () => dashboard.db.selectFrom('imports').selectAll().where('app_id', '=', appId).execute()

test('a file of exactly 150 MiB is accepted', async () => {
  const answer = await visitor.postBody(page, formWithFile(limitBytes), multipart, page)
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
  const answer = await visitor.postBody(page, form, multipart, page)
  expect(answer.status).toBe(413)
  expect(answer.text).toContain('over the limit of 150 MB')
  expect(await importsOf()).toEqual([])
  expect(peak - before).toBeLessThan(limitBytes / 2)
})

describe('a refused upload leaves no trace', () => {
  test('a file whose declared length is too large', async () => {
    // A form may have a megabyte of other fields, so this file is refused only while it is read.
    const answer = await visitor.postFile(page, 'large.csv', new Blob([Buffer.alloc(limitBytes + 100_000)]))
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
