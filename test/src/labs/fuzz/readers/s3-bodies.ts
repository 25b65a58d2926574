import assert from 'node:assert/strict'
import {
  createSigner,
  decodeChunked,
  parseXml,
  S3Error,
  sha256Hex,
  sign,
  type XmlForm,
} from '@sluice/s3-endpoint/testing/readers'
import { longestCompared, outcomeOf, pieces, streamOf, type Target } from './target.ts'

/** Returns the code of a refusal by the S3 protocol that blames the client. */
export function s3Refusal(error: unknown): string | undefined {
  if (!(error instanceof S3Error)) return undefined
  const isClients = error.status < 500 || error.code === 'NotImplemented'
  return isClients ? error.code : undefined
}

async function decoded(chunks: readonly Buffer[], options: Parameters<typeof decodeChunked>[1]) {
  return await outcomeOf(async () => {
    const body = decodeChunked(streamOf(chunks), options)
    const data: Buffer[] = []
    for (;;) {
      const next = await body.next()
      if (next.done) return { data: Buffer.concat(data).toString('latin1'), trailer: [...next.value] }
      data.push(next.value)
    }
  }, s3Refusal)
}

/**
 * Fuzzes the reader of bodies in unsigned chunks. Its result is the same however the bytes are split. An accepted body
 * equals that of a naive reader.
 */
export const chunkedBody: Target = {
  name: 's3-chunked-body',
  dictionary: [
    '\r\n',
    '0\r\n',
    '0\r\n\r\n',
    '1\r\na\r\n',
    'x-amz-checksum-crc32:AAAAAA==\r\n',
    ';chunk-signature=',
    'f',
  ],
  seeds: [
    ...['0\r\n\r\n', '5\r\nhello\r\n3\r\nabc\r\n0\r\n\r\n'],
    '5\r\nhello\r\n0\r\nx-amz-checksum-crc32:NhCmhg==\r\n\r\n',
  ],
  async check(input, random) {
    const options = { signing: undefined, trailer: random(2) === 0 }
    const whole = await decoded([input], options)
    assert.deepEqual(await decoded(pieces(input, random), options), whole)
    if ('value' in whole && input.length <= longestCompared) {
      assert.equal(whole.value.data, referenceData(input.toString('latin1')))
    }
  },
}

/** Returns the data of a body in chunks. */
function referenceData(text: string): string {
  const line = /^([0-9a-f]+)(?:;[^\r\n]*)?\r\n/i.exec(text)
  const size = Number.parseInt(line?.[1] ?? '0', 16)
  if (line === null || size === 0) return ''
  const begin = line[0].length
  return text.slice(begin, begin + size) + referenceData(text.slice(begin + size + 2))
}

const timestamp = '20261101T120000Z'
const signer = createSigner('secret', { accessKeyId: 'KEY', date: '20261101', region: 'us-east-1' }, timestamp)
const seed = sha256Hex('the signature of the request')
const signedPayloads = ['', 'a', 'user_id,age\nalice,34\n', 'x'.repeat(300)]

/** Returns a body in signed chunks of at most `chunkBytes` bytes, with a signed trailer if `trailer` is not empty. */
function signedBody(payload: string, chunkBytes: number, trailer = ''): Buffer {
  let previous = seed
  let body = ''
  for (let at = 0; ; at += chunkBytes) {
    const data = payload.slice(at, at + chunkBytes)
    previous = sign(signer, 'AWS4-HMAC-SHA256-PAYLOAD', [previous, sha256Hex(''), sha256Hex(data)])
    body += `${data.length.toString(16)};chunk-signature=${previous}\r\n${data}${data === '' ? '' : '\r\n'}`
    if (data === '') break
  }
  if (trailer === '') return Buffer.from(`${body}\r\n`)
  const signature = sign(signer, 'AWS4-HMAC-SHA256-TRAILER', [previous, sha256Hex(`${trailer}\n`)])
  return Buffer.from(`${body}${trailer}\r\nx-amz-trailer-signature:${signature}\r\n\r\n`)
}

const trailerLine = 'x-amz-checksum-crc32:AAAAAA=='

/** Fuzzes the reader of bodies in signed chunks. It accepts only bytes that were signed. */
export const signedChunks: Target = {
  name: 's3-signed-chunks',
  dictionary: ['\r\n', '0;chunk-signature=', ';chunk-signature=', '\r\n\r\n', 'x-amz-trailer-signature:', '01', '0'],
  seeds: signedPayloads.flatMap((text) => [signedBody(text, 50), signedBody(text, 7, trailerLine)]),
  async check(input, random) {
    for (const trailer of [false, true]) {
      const options = { signing: { signer, seed }, trailer }
      const whole = await decoded([input], options)
      assert.deepEqual(await decoded(pieces(input, random), options), whole)
      if ('refusal' in whole) continue
      assert(signedPayloads.includes(whole.value.data), 'a body is accepted that was not signed')
      assert.deepEqual(whole.value.trailer, trailer ? [trailerLine.split(':')] : [])
    }
  },
}

const form: XmlForm = {
  root: 'Delete',
  texts: ['Quiet'],
  item: 'Object',
  itemTexts: ['Key', 'ETag'],
  maxItems: 20,
  maxBytes: 65_536,
}

/**
 * Fuzzes the reader of XML documents. The contents of an accepted document can be written and read again unchanged.
 */
export const xml: Target = {
  name: 's3-xml',
  dictionary: [
    ...'< > </ /> <Delete> </Delete> <Object> </Object> <Key> </Key> <Quiet> <?xml?> &amp; &#0; &#x10ffff; &'.split(
      ' ',
    ),
    ...['&#55296;', ';', '<!DOCTYPE a [', '<!--', '-->', '<![CDATA[', ']]>', ' a="b"', 's3:', '\r\n', "a='<'"],
    '&constructor;',
  ],
  seeds: [
    '<?xml version="1.0"?>\n<Delete xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Quiet>true</Quiet><Object><Key>a&amp;b</Key><ETag>"x"</ETag></Object>\n<Object><Key>&#233;</Key></Object></Delete>',
    "<s3:Delete a='b'><s3:Object><s3:Key/></s3:Object></s3:Delete>",
  ],
  async check(input) {
    const whole = await readXml(input)
    if ('refusal' in whole) return
    const { texts, items } = whole.value
    const written = `<Delete>${elements(texts)}${items.map((item) => `<Object>${elements(item)}</Object>`).join('')}</Delete>`
    assert.deepEqual(await readXml(Buffer.from(written)), whole)
  },
}

async function readXml(bytes: Buffer) {
  return await outcomeOf(() => {
    const { texts, items } = parseXml(bytes, form)
    return { texts: [...texts], items: items.map((item) => [...item]) }
  }, s3Refusal)
}

function elements(texts: readonly (readonly [string, string])[]): string {
  return texts
    .map(([name, text]) => `<${name}>${text.replace(/[&<>\r]/g, (one) => `&#${one.charCodeAt(0)};`)}</${name}>`)
    .join('')
}
