import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { connect } from 'node:net'
import type { Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { createGzip, constants as zlib } from 'node:zlib'
import { cancelImport } from '@sluice/imports'
import { begin } from '@sluice/s3-endpoint/testing'
import { signIn as signInAt, type Visitor } from '../../dashboard/visitor.ts'
import { statusOf, upload } from '../../stack/client.ts'
import type { RunningStack } from '../../stack/running-stack.ts'
import type { AttackContext } from './attack.ts'

const megabyte = 2 ** 20

/** Compresses a header and `count` repetitions of a row. Works for any uncompressed size. */
export async function bomb(header: string, row: string, count: number): Promise<Buffer> {
  const packer = createGzip({ level: zlib.Z_BEST_COMPRESSION })
  const packed = packer.toArray()
  const times = Math.max(1, Math.floor(megabyte / row.length))
  const many = Buffer.from(row.repeat(Math.min(times, count)))
  const one = many.length / Math.min(times, count)
  packer.write(header)
  for (let left = count; left > 0; left -= times) {
    if (!packer.write(left >= times ? many : many.subarray(0, left * one))) await once(packer, 'drain')
  }
  packer.end()
  return Buffer.concat(await packed)
}

/** Cancels all waiting and running imports of the apps. */
export async function cancelAll({ db }: RunningStack, appIds: readonly number[]): Promise<void> {
  if (appIds.length === 0) return
  const unfinished = await db
    .selectFrom('imports')
    .select(['app_id as appId', 'import_id as importId'])
    .where('app_id', 'in', appIds)
    .where('finished_at', 'is', null)
    .limit(1_000)
    .execute()
  for (const id of unfinished) await cancelImport(db, id)
}

/** Returns the number of imports of an app that have not ended. */
export async function unfinishedImports({ db }: RunningStack, appId: number): Promise<number> {
  const { count } = await db
    .selectFrom('imports')
    .select((select) => select.fn.countAll<number>().as('count'))
    .where('app_id', '=', appId)
    .where('finished_at', 'is', null)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Uploads a compressed file through both requests of v3. Returns the import ID. */
export function uploadBomb({ urls }: AttackContext, token: string, file: Buffer): Promise<string> {
  return upload(urls.api, token, file, 'application/gzip')
}

/** Waits for the end of the import or of the attack. Returns how long that took, s. */
export async function secondsToEnd({ urls, signal }: AttackContext, token: string, importId: string): Promise<number> {
  const begun = performance.now()
  while (!signal.aborted && (await statusOf(urls.api, token, importId)).finished_at === null) await delay(100)
  return Math.round((performance.now() - begun) / 100) / 10
}

/**
 * The answer to an attacker's request. A failure is returned as an answer too, because an attacker continues after
 * failures.
 */
export interface AttackAnswer {
  /** 0 if the connection ended without an answer. */
  status: number
  headers: IncomingMessage['headers']
  seconds: number
}

/** Sends a request on its own connection. Aborts the request when the attack ends. Never throws. */
export async function attackWith(
  signal: AbortSignal,
  url: string,
  method: string,
  headers: Record<string, string>,
  body: Buffer | string = '',
): Promise<AttackAnswer> {
  const begun = performance.now()
  const took = () => Math.round((performance.now() - begun) / 100) / 10
  try {
    const sending = request(url, {
      ...{ method, agent: false, signal },
      headers: { ...headers, 'Content-Length': Buffer.byteLength(body) },
    })
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      sending.once('response', resolve)
      sending.on('error', reject)
    })
    sending.end(body)
    const response = await answered
    response.on('error', () => {}).resume()
    return { status: response.statusCode ?? 0, headers: response.headers, seconds: took() }
  } catch {
    return { status: 0, headers: {}, seconds: took() }
  }
}

/** Counts answers by status, under names such as `status 202`. */
export function countStatuses(answers: readonly { status: number }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status } of answers) counts[`status ${status}`] = (counts[`status ${status}`] ?? 0) + 1
  return counts
}

/** A connection that sends a byte from time to time, and never ends by itself. */
export interface SlowClient {
  /**
   * Resolves when the connection is closed, with the time it was open (s) and the status of the answer (0 for none).
   */
  closed: Promise<{ seconds: number; status: number }>
  isOpen(): boolean
  /** Whether an answer has begun, or the connection is closed. */
  isAnswered(): boolean
  end(): void
}

/** Opens a connection that sends `head` at once, and then `piece` every second until the attack ends. */
export function trickle(signal: AbortSignal, url: string, head: string, piece = 'x'): SlowClient {
  const { hostname, port } = new URL(url)
  let answer = ''
  const socket = connect(Number(port), hostname, () => void socket.write(head))
  socket.on('data', (chunk) => {
    if (answer.length < 100) answer += chunk.toString('latin1')
  })
  return slowly(signal, socket, { piece, pauseMs: 1_000 }, () => Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0))
}

/** Begins a signed upload of 1 GB, and sends one byte every two seconds until the attack ends. */
export function trickleUpload(
  signal: AbortSignal,
  url: string,
  path: string,
  signed: { accessKeyId: string; secretAccessKey: string },
): SlowClient {
  const headers = { 'content-length': '1000000000' }
  const sending = begin(url, { ...signed, method: 'PUT', path, headers, payloadHash: 'UNSIGNED-PAYLOAD' })
  let status = 0
  sending.on('response', (response) => {
    status = response.statusCode ?? 0
    response.on('error', () => {}).resume()
  })
  sending.write('x')
  return slowly(signal, sending, { piece: 'x', pauseMs: 2_000 }, () => status)
}

/** Sends a piece from time to time until the attack ends. `status` returns the status of the answer, 0 for none. */
function slowly(
  signal: AbortSignal,
  stream: Writable,
  { piece, pauseMs }: { piece: string; pauseMs: number },
  status: () => number,
): SlowClient {
  const begun = performance.now()
  const timer = setInterval(() => stream.writable && stream.write(piece), pauseMs)
  const end = () => void stream.destroy()
  signal.addEventListener('abort', end, { once: true })
  stream.on('error', () => {})
  const closed = new Promise<{ seconds: number; status: number }>((resolve) => {
    stream.once('close', () => {
      clearInterval(timer)
      signal.removeEventListener('abort', end)
      resolve({ seconds: Math.round((performance.now() - begun) / 100) / 10, status: status() })
    })
  })
  const isOpen = () => !stream.closed && !stream.destroyed
  return { closed, isOpen, isAnswered: () => status() !== 0 || !isOpen(), end }
}

/** Signs in to the dashboard under attack. Returns the visitor. */
export async function signIn({ stack, urls }: AttackContext, email: string): Promise<Visitor> {
  return await signInAt({ db: stack.db, url: urls.dashboard }, email)
}

/** Waits for `ms` ms, or until the attack ends. */
export async function pauseFor(signal: AbortSignal, ms: number): Promise<void> {
  await delay(ms, undefined, { signal }).catch(() => {})
}
