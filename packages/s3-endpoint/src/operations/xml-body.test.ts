import { describe, expect, test } from 'vitest'
import type { Upload } from '../backend.ts'
import type { XmlForm, XmlTexts } from '../protocol/xml-reader.ts'
import { readXmlBody } from './xml-body.ts'

const form: XmlForm<XmlTexts> = {
  root: 'Root',
  texts: [],
  items: { name: 'Item', texts: ['Key'], max: 10_000, read: (texts) => texts },
  maxBytes: 1024 * 1024,
}
const chunkBytes = 64 * 1024

/** Makes a body that is completely available, in chunks. `bytesRead` returns how many of its bytes were read. */
function bodyOf(text: string, size = chunkBytes): { upload: Upload; bytesRead: () => number } {
  const bytes = Buffer.from(text)
  let bytesRead = 0
  async function* chunks() {
    for (let at = 0; at < bytes.length; at += size) {
      const chunk = bytes.subarray(at, at + size)
      bytesRead += chunk.length
      yield chunk
    }
  }
  const unused = () => {
    throw new Error('the reader of a document must not ask for digests')
  }
  const upload = { size: bytes.length, signature: '', chunks: chunks(), requireChecksum: unused, digests: unused }
  return { upload, bytesRead: () => bytesRead }
}

const document = (items: string) => `<Root>${items}</Root>`

test.each([1, 3, chunkBytes])('a document is read in chunks of %d bytes', async (size) => {
  const items = Array.from({ length: 2_000 }, (_, index) => `<Item><Key>ü${index}😀</Key></Item>`).join('\n')
  const { items: read } = await readXmlBody(bodyOf(document(items), size).upload, form)
  expect(read.map((texts) => texts.get('Key'))).toEqual(Array.from({ length: 2_000 }, (_, index) => `ü${index}😀`))
})

test('a document over the limit is refused before it is read', async () => {
  const { upload, bytesRead } = bodyOf(document(' '.repeat(form.maxBytes)))
  await expect(readXmlBody(upload, form)).rejects.toMatchObject({ code: 'MaxMessageLengthExceeded' })
  expect(bytesRead()).toBe(0)
})

test('bytes that are not UTF-8 are refused', async () => {
  const { upload } = bodyOf(document('<Item><Key>a</Key></Item>'))
  async function* chunks() {
    yield Buffer.from('<Root><Item><Key>\xff', 'latin1')
  }
  await expect(readXmlBody({ ...upload, chunks: chunks() }, form)).rejects.toMatchObject({ code: 'MalformedXML' })
})

describe('reading stops as soon as a document cannot be accepted', () => {
  const rest = '<Item/>'.repeat(100_000)

  test.each([
    ['an unknown element', `<a/>${rest}`, 'NotImplemented'],
    ['an element in a text', `<Item><Key><Key/></Key></Item>${rest}`, 'MalformedXML'],
    ['too many items', rest, 'MalformedXML'],
    ['a tag that never ends', `<${' '.repeat(600_000)}`, 'MalformedXML'],
    ['a text that never ends', `<Item><Key>${'a'.repeat(600_000)}`, 'MalformedXML'],
  ])('%s', async (_name, items, code) => {
    const { upload, bytesRead } = bodyOf(document(items))
    await expect(readXmlBody(upload, form)).rejects.toMatchObject({ code })
    expect(bytesRead()).toBeLessThanOrEqual(2 * chunkBytes)
  })
})

test('other requests can run while a completely received document is read', async () => {
  let otherRuns = 0
  let isRead = false
  const count = () => {
    otherRuns += 1
    if (!isRead) setImmediate(count)
  }
  setImmediate(count)
  const bytes = 512 * 1024
  await readXmlBody(bodyOf(document(`<Item><Key>a</Key>${' '.repeat(50)}</Item>`.repeat(bytes / 100))).upload, form)
  isRead = true
  expect(otherRuns).toBeGreaterThan(20)
})
