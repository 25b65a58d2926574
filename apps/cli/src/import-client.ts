import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { type ClientRequest, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type ImportView, importView, type UploadDescriptor } from '@sluice/contract'
import { gzipMagicBytes, isGzip } from '@sluice/csv'
import { Failure } from './failure.ts'
import { openProgress } from './progress.ts'

const path = '/v3/user_profiles/bulk_import'

/**
 * Uploads a file in the two steps of the API, as any client would: checksum, first request, PUT, with a progress bar.
 *
 * Gives the import's ID. Throws {@link Failure} with the API's or the storage's own words.
 */
export async function uploadFile(api: string, token: string, file: string, dryRun: boolean): Promise<string> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined || !found.isFile()) throw new Failure(`${file} is not a file that can be read`)
  const checksum = await md5(file)
  const contentType = (await isCompressed(file)) ? 'application/gzip' : 'text/csv'
  const response = await call(`${api}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Service-Token': token },
    body: JSON.stringify({
      checksum,
      byte_size: String(found.size),
      content_type: contentType,
      ...(dryRun && { dry_run: true }),
    }),
  })
  const importId = response.headers.get('x-import-id')
  const { direct_upload: upload } = (await response.json()) as UploadDescriptor
  if (importId === null) throw new Failure(`${api} is not an API of Sluice: its answer has no X-Import-Id`)
  await put(upload, file, found.size)
  return importId
}

/** Follows an import until it has ended. Gives it as the API shows it. An API that restarts meanwhile is waited for. */
export async function waitForEnd(api: string, token: string, importId: string): Promise<ImportView> {
  let patience = performance.now() + outagePatience
  for (let pause = 200; ; pause = Math.min(pause * 1.5, 2000)) {
    try {
      const response = await call(`${api}${path}/${importId}`, { headers: { 'X-Service-Token': token } })
      const view = importView.parse(await response.json())
      if (view.finished_at !== null) return view
      patience = performance.now() + outagePatience
    } catch (error) {
      const mayPass =
        error instanceof Unanswered || (error instanceof Refused && (error.status >= 500 || error.status === 429))
      if (!mayPass || performance.now() > patience) throw error
    }
    await delay(pause)
  }
}

/** How long an API that does not answer is waited for, ms. */
const outagePatience = 3 * 60_000

/** The API could not be reached, or broke off. */
class Unanswered extends Failure {}

/** The API answered with an error. */
class Refused extends Failure {
  readonly status: number

  constructor(message: string, status: number) {
    super(`${message} (${status})`)
    this.status = status
  }
}

async function md5(file: string): Promise<string> {
  const hash = createHash('md5')
  await pipeline(createReadStream(file, { highWaterMark: 2 ** 20 }), hash)
  return hash.digest('base64')
}

/** By the file's ending; what was renamed is told by its first bytes. */
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

async function call(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init).catch((error: Error) => {
    const cause = error.cause instanceof Error ? error.cause.message : error.message
    throw new Unanswered(`${new URL(url).origin} cannot be reached: ${cause}`)
  })
  if (response.ok) return response
  const body = (await response.json().catch(() => undefined)) as { error?: { messages?: string[] } } | undefined
  throw new Refused(body?.error?.messages?.join(', ') ?? 'the API answered', response.status)
}

/** A connection on which nothing moves for this long is given up, ms. */
const silence = 60_000

/** Storage that refuses an upload may close while the file is still being sent: its words come this much later, ms. */
const lastWords = 1_000

/** The second request. Node's own client streams a body of known length with back-pressure, which fetch does not. */
async function put(upload: UploadDescriptor['direct_upload'], file: string, size: number): Promise<void> {
  const progress = openProgress('Uploading', size)
  const send = upload.url.startsWith('https:') ? httpsRequest : httpRequest
  const request = send(upload.url, { method: 'PUT', headers: { ...upload.headers, 'Content-Length': size } })
  request.setTimeout(silence, () => request.destroy(new Error(`nothing moved for ${silence / 1000} s`)))
  const answered = readAnswer(request)
  // A file that grew is cut at the size that was declared: storage then compares its checksum.
  const body = createReadStream(file, { highWaterMark: 2 ** 18, end: size - 1 })
  const sending = pipeline(body, progress.count, request).catch(async (error: Error) => {
    await delay(lastWords)
    throw error
  })
  const { status, text } = await Promise.race([answered, sending.then(() => answered)]).catch((error: Error) => {
    throw new Failure(`the upload broke off: ${error.message}`)
  })
  sending.catch(() => {}) // storage has said what there is to say
  progress.end()
  if (status === 200) return
  throw new Failure(`storage refused the upload (${status}): ${/<Message>(.*?)<\/Message>/s.exec(text)?.[1] ?? text}`)
}

/** The answer to a request. Its errors are those of sending, which are waited for elsewhere. */
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
