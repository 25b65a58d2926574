import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { basename } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type ImportView, importView, limits, type UploadDescriptor } from '@sluice/contract'
import { gzipMagicBytes, isGzip } from '@sluice/csv'
import { call, callUntilAnswered, mayPass } from './api-calls.ts'
import { Failure } from './failure.ts'
import { openProgress } from './progress.ts'

const path = '/v3/user_profiles/bulk_import'

/** Optional members of the first request. */
export interface UploadOptions {
  dry_run?: boolean
  profile_types?: Readonly<Record<string, string>>
  new_keys?: string
  clear_marker?: string
}

/**
 * Uploads a file with a progress bar. Uses the two steps of the API: a first request with the checksum, then a PUT to
 * storage.
 *
 * Returns the import's ID. Throws {@link Failure} with the error message of the API or of storage.
 */
export async function uploadFile(api: string, token: string, file: string, options: UploadOptions): Promise<string> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined || !found.isFile()) throw new Failure(`${file} is not a file that can be read`)
  const checksum = await md5(file)
  const contentType = (await isCompressed(file)) ? 'application/gzip' : 'text/csv'
  const response = await callUntilAnswered(`${api}${path}`, {
    method: 'POST',
    // One key for the file: if an answer is lost, the repetition does not begin a second import.
    headers: { 'Content-Type': 'application/json', 'X-Service-Token': token, 'Idempotency-Key': crypto.randomUUID() },
    body: JSON.stringify({
      checksum,
      byte_size: String(found.size),
      content_type: contentType,
      file_name: nameOf(file),
      ...options,
    }),
  })
  const importId = response.headers.get('x-import-id')
  const { direct_upload: upload } = (await response.json()) as UploadDescriptor
  if (importId === null) throw new Failure(`${api} is not an API of Sluice: its answer has no X-Import-Id`)
  await put(upload, file, found.size)
  return importId
}

/**
 * Polls an import until it has ended, and returns it as the API shows it. An outage of the API, such as a restart, may
 * last up to {@link outagePatienceMs}.
 */
export async function waitForEnd(api: string, token: string, importId: string): Promise<ImportView> {
  let deadline = performance.now() + outagePatienceMs
  for (let pauseMs = 200; ; pauseMs = Math.min(pauseMs * 1.5, 2000)) {
    try {
      const response = await call(`${api}${path}/${importId}`, { headers: { 'X-Service-Token': token } })
      const view = importView.parse(await response.json())
      if (view.finished_at !== null) return view
      deadline = performance.now() + outagePatienceMs
    } catch (error) {
      if (!mayPass(error) || performance.now() > deadline) throw error
    }
    await delay(pauseMs)
  }
}

/** For how long to wait for an API that does not answer. */
const outagePatienceMs = 3 * 60_000

/** Returns the name of a file without its folder, as far as the API accepts it. */
function nameOf(file: string): string {
  return Array.from(basename(file).toWellFormed()).slice(0, limits.fileNameLength).join('')
}

async function md5(file: string): Promise<string> {
  const hash = createHash('md5')
  await pipeline(createReadStream(file, { highWaterMark: 2 ** 20 }), hash)
  return hash.digest('base64')
}

/** Checks whether a file is gzip: by its extension, or by its first bytes if the extension is unknown. */
async function isCompressed(file: string): Promise<boolean> {
  if (/\.(gz|gzip)$/i.test(file)) return true
  if (/\.csv$/i.test(file)) return false
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(gzipMagicBytes), 0, gzipMagicBytes, 0)
    return isGzip(buffer.subarray(0, bytesRead))
  } finally {
    await handle.close()
  }
}

/** An upload times out after so long without progress. */
const uploadTimeoutMs = 60_000

/**
 * Storage may refuse an upload and close the connection while the file is being sent. Its answer may arrive this much
 * later.
 */
const lateAnswerMs = 1_000

/**
 * Sends the file to storage. Uses Node's own client because `fetch` cannot stream a body of known length with
 * back-pressure.
 */
async function put(upload: UploadDescriptor['direct_upload'], file: string, size: number): Promise<void> {
  const progress = openProgress('Uploading', size)
  const send = upload.url.startsWith('https:') ? httpsRequest : httpRequest
  const request = send(upload.url, { method: 'PUT', headers: { ...upload.headers, 'Content-Length': size } })
  const timeout = new Error(`nothing moved for ${uploadTimeoutMs / 1000} s`)
  request.setTimeout(uploadTimeoutMs, () => request.destroy(timeout))
  const answered = readAnswer(request)
  // If the file has grown meanwhile, only the declared size is sent, and storage compares the checksum.
  const body = createReadStream(file, { highWaterMark: 2 ** 18, end: size - 1 })
  const sending = pipeline(body, progress.count, request).catch(async (error: Error) => {
    await delay(lateAnswerMs)
    throw error
  })
  const { status, text } = await Promise.race([answered, sending.then(() => answered)]).catch((error: Error) => {
    throw new Failure(`the upload was interrupted: ${error.message}`)
  })
  sending.catch(() => {}) // storage has answered already
  progress.end()
  if (status === 200) return
  throw new Failure(`storage refused the upload (${status}): ${/<Message>(.*?)<\/Message>/s.exec(text)?.[1] ?? text}`)
}

/**
 * Reads the answer to a request. Does not reject if the request itself fails: the caller awaits that error with the
 * sending.
 */
function readAnswer(request: ClientRequest): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    request.on('error', () => {})
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
  })
}
