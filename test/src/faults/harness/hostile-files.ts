import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { Readable } from 'node:stream'
import { createGzip } from 'node:zlib'
import { seeded } from '../../environment/random.ts'
import { until } from '../../environment/wait.ts'
import { watchMemory } from '../../memory/peak-memory.ts'
import { download, ended, put, requestImport } from '../../stack/client.ts'
import { type ClientApp, openClientApp, upload } from './client.ts'
import type { Deployment } from './deployment.ts'
import { generateSoundFile } from './generate.ts'

/** A file that is uploaded to do harm, or by mistake. */
export interface HostileFile {
  name: string
  contentType: 'text/csv' | 'application/gzip'
  bytes(): AsyncIterable<Buffer>
  expected: { state: 'completed' | 'failed'; error: string | null; rows_total: number; rows_failed: number }
  /** Distinct messages of the error file. Not checked if left out. */
  messages?: string[]
}

const megabyte = 2 ** 20

/** Lists the hostile files. The largest have about `bytes` bytes before compression. */
export function hostileFiles(bytes: number): HostileFile[] {
  const numbers = (count: number, prefix: string) => Array.from({ length: count }, (_, n) => `${prefix}${n}`).join(',')
  const wide = numbers(10_000, 'c')
  return [
    refused('one line and nothing else', repeat('x', bytes), 'header size over 102400 bytes'),
    rows('one row that never ends', 'user_id,a\n', repeat('x', bytes), 1, ['row is too long']),
    refused('1,000,000 columns', text(`user_id,${numbers(1_000_000, 'c')}\nu\n`), 'header size over 102400 bytes'),
    refused(
      '10,000 columns with values',
      text(`user_id,${wide}\nuser-1,${numbers(10_000, '')}\n`),
      'This app has exceeded the limit of enabled user profile(500)',
    ),
    {
      ...rows(
        '10,000 columns without values',
        `user_id,${wide}\n`,
        repeat(`user-1${','.repeat(10_000)}\n`, megabyte),
        105,
      ),
      expected: { state: 'completed', error: null, rows_total: 105, rows_failed: 0 },
      messages: [],
    },
    rows(
      'rows of 1,000,000 cells',
      'user_id,a\n',
      repeat(`${'1,'.repeat(500_000)}${','.repeat(40_000)}\n`, bytes / 8),
      Math.ceil(bytes / 8 / 1_040_001),
      ['too many values, user_id is unregistered user'],
    ),
    {
      ...rows('63 rows of 1,048,499 commas in 64 KB', '', repeat('', 0), 63, [
        'too many values, user_id is unregistered user',
      ]),
      ...gzip('user_id,zzz\n', repeat(`u${','.repeat(1_048_499)}\n`, 63 * 1_048_501)),
    },
    rows(
      'short rows under keys of control characters, six times as long as JSON',
      `user_id,${Array.from({ length: 400 }, (_, n) => `${'\u0001'.repeat(245)}${n}`).join(',')}\n`,
      repeat(`nobody${',1'.repeat(400)}\n`, 1300 * 807),
      1300,
      ['user_id is unregistered user'],
    ),
    rows('a quote that never closes', 'user_id,a\nuser-1,"', repeat('x\n', 2 * 655_360), 655_360, [
      'quote is not closed',
      'user_id is unregistered user',
    ]),
    {
      ...rows('a row of zeros, compressed', 'user_id,a\n', repeat('\0', bytes), 1, ['row is too long']),
      ...gzip('user_id,a\n', repeat('\0', bytes)),
    },
    refusedGzip('a header of zeros, compressed', gzip('', repeat('\0', bytes)).bytes, 'header size over 102400 bytes'),
    refusedGzip('random bytes that are no gzip', randomBytes(megabyte), 'not in gzip format'),
    refused('random bytes', randomBytes(8 * megabyte), unreadable),
    rows('random bytes as rows', 'user_id,a\n', randomBytes(megabyte), 4085),
    rows('NUL bytes in rows', 'user_id,a\n', repeat('user-1,\0\n', 900), 100, ['a should be UTF-8']),
    refused('NUL bytes in the header', text('user_id,a\0\nuser-1,1\n'), 'column 2 should be UTF-8'),
    rows('a header only', 'user_id,a\n', text(''), 0),
    refused('a header without a line break', text('user_id,a'), 'newline character not found'),
    refused('nothing but line breaks', repeat('\n', bytes / 8), 'empty file'),
  ]
}

type Bytes = HostileFile['bytes']

/** Part of the message about random column names. The full message repeats the names. */
const unreadable = 'should be UTF-8'

function refused(name: string, bytes: Bytes, error: string): HostileFile {
  return { name, contentType: 'text/csv', bytes, expected: { state: 'failed', error, rows_total: 0, rows_failed: 0 } }
}

function refusedGzip(name: string, bytes: Bytes, error: string): HostileFile {
  return { ...refused(name, bytes, error), contentType: 'application/gzip' }
}

/** Describes a file in which every row is invalid. */
function rows(name: string, header: string, body: Bytes, count: number, messages?: string[]): HostileFile {
  return {
    name,
    contentType: 'text/csv',
    bytes: joined(header, body),
    expected: { state: 'completed', error: null, rows_total: count, rows_failed: count },
    ...(messages !== undefined && { messages }),
  }
}

function gzip(header: string, body: Bytes): Pick<HostileFile, 'contentType' | 'bytes'> {
  return {
    contentType: 'application/gzip',
    async *bytes() {
      const packer = createGzip()
      const packing = (async () => {
        for await (const chunk of joined(header, body)()) {
          if (!packer.write(chunk)) await new Promise((resolve) => packer.once('drain', resolve))
        }
        packer.end()
      })()
      yield* packer
      await packing
    },
  }
}

function joined(header: string, body: Bytes): Bytes {
  return async function* () {
    yield Buffer.from(header)
    yield* body()
  }
}

function text(content: string): Bytes {
  return repeat(content, content.length)
}

/** Repeats a text until at least `bytes` bytes are written. The last repetition is complete. */
function repeat(content: string, bytes: number): Bytes {
  const unit = Buffer.from(content)
  return async function* () {
    if (unit.length === 0) return
    const times = Math.max(1, Math.floor(megabyte / unit.length))
    const chunk = Buffer.alloc(unit.length * times, unit)
    for (let left = Math.ceil(bytes / unit.length); left > 0; left -= times) {
      yield left >= times ? chunk : chunk.subarray(0, left * unit.length)
    }
  }
}

function randomBytes(bytes: number): Bytes {
  return async function* () {
    const random = seeded(10)
    yield Buffer.from(Uint8Array.from({ length: bytes }, () => random(256)))
  }
}

export interface HostileOutcome {
  state: string
  error: string | null
  rows_total: number
  rows_failed: number
  /** Peak resident memory of a worker, bytes. */
  peakMemory: number
  /** Time from the end of the upload to the end of the import, ms. */
  tookMs: number
  messages: string[]
  mail: string
}

/** Uploads a hostile file to a new app, then a valid file, which must be applied. */
export async function runHostileFile(deployment: Deployment, file: HostileFile): Promise<HostileOutcome> {
  const app = await openClientApp(deployment)
  const memory = watchMemory(async () => deployment.workers().map(({ pid }) => pid))
  const { checksum, size } = await digest(file)
  const declared = { checksum, byte_size: String(size), content_type: file.contentType }
  const { importId, url, headers } = await requestImport(deployment.api, app.token, declared)
  const answer = await put(url, { ...headers, 'Content-Length': size }, Readable.from(file.bytes()))
  assert.equal(answer.status, 200, answer.code)
  const uploaded = performance.now()
  const view = await ended(deployment.api, app.token, importId, 300_000)
  const tookMs = performance.now() - uploaded
  const next = await ended(
    deployment.api,
    app.token,
    await upload(deployment, app, generateSoundFile(seeded(1), 1, 100)),
  )
  assert.equal(next.state, 'completed', 'the next import')
  return {
    state: view.state,
    error: view.error,
    rows_total: view.rows_total,
    rows_failed: view.rows_failed,
    peakMemory: await memory.end(),
    tookMs: Math.round(tookMs),
    messages: view.error_file_url === null ? [] : messagesOf(await download(view.error_file_url)),
    mail: await mailAbout(deployment, app, importId),
  }
}

async function digest(file: HostileFile): Promise<{ checksum: string; size: number }> {
  const md5 = createHash('md5')
  let size = 0
  for await (const chunk of file.bytes()) {
    md5.update(chunk)
    size += chunk.length
  }
  return { checksum: md5.digest('base64'), size }
}

/**
 * Returns the distinct texts in the first column of an error file. A text of several messages is quoted in the file.
 */
function messagesOf(errorFile: Buffer): string[] {
  const lines = errorFile.toString('latin1').split('\n').slice(1, -1)
  return [
    ...new Set(lines.map((line) => /^"([^"]*)"|^[^,]*/.exec(line)).map((found) => found?.[1] ?? found?.[0] ?? '')),
  ]
}

async function mailAbout({ db }: Deployment, app: ClientApp, importId: string): Promise<string> {
  return await until('the mail', async () => {
    const mail = await db
      .selectFrom('mails')
      .select('text')
      .where('app_id', '=', app.appId)
      .where('event', '=', `import:${importId}`)
      .where('state', '=', 'sent')
      .executeTakeFirst()
    return mail?.text
  })
}
