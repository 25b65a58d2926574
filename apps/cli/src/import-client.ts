import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type ImportView, importView, type UploadDescriptor } from '@sluice/contract'
import { Failure } from './failure.ts'
import { openProgress } from './progress.ts'

const path = '/v3/user_profiles/bulk_import'

/**
 * Uploads a file in the two steps of the API, as any client would: checksum, first request, PUT, with a progress bar.
 *
 * Gives the import's ID. Throws {@link Failure} with the API's or the storage's own words.
 */
export async function uploadFile(api: string, token: string, file: string): Promise<string> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined || !found.isFile()) throw new Failure(`${file} is not a file that can be read`)
  const checksum = await md5(file)
  const contentType = (await isGzip(file)) ? 'application/gzip' : 'text/csv'
  const response = await call(`${api}${path}`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Service-Token': token },
    body: JSON.stringify({ checksum, byte_size: String(found.size), content_type: contentType }),
  })
  const importId = response.headers.get('x-import-id')
  const { direct_upload: upload } = (await response.json()) as UploadDescriptor
  if (importId === null) throw new Failure(`${api} is not an API of Sluice: its answer has no X-Import-Id`)
  await put(upload, file, found.size)
  return importId
}

/** Follows an import until it has ended. Gives it as the API shows it. */
export async function waitForEnd(api: string, token: string, importId: string): Promise<ImportView> {
  for (let pause = 200; ; pause = Math.min(pause * 1.5, 2000)) {
    const response = await call(`${api}${path}/${importId}`, { headers: { 'X-Service-Token': token } })
    const view = importView.parse(await response.json())
    if (view.finished_at !== null) return view
    await delay(pause)
  }
}

async function md5(file: string): Promise<string> {
  const hash = createHash('md5')
  await pipeline(createReadStream(file, { highWaterMark: 2 ** 20 }), hash)
  return hash.digest('base64')
}

/** By the file's ending; what was renamed is told by its first two bytes. */
async function isGzip(file: string): Promise<boolean> {
  if (/\.(gz|gzip)$/i.test(file)) return true
  if (/\.csv$/i.test(file)) return false
  const handle = await open(file)
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(2), 0, 2, 0)
    return bytesRead === 2 && buffer.readUInt16BE() === 0x1f8b
  } finally {
    await handle.close()
  }
}

async function call(url: string, init: RequestInit): Promise<Response> {
  const response = await fetch(url, init).catch((error: Error) => {
    const cause = error.cause instanceof Error ? error.cause.message : error.message
    throw new Failure(`${new URL(url).origin} cannot be reached: ${cause}`)
  })
  if (response.ok) return response
  const body = (await response.json().catch(() => undefined)) as { error?: { messages?: string[] } } | undefined
  throw new Failure(`${body?.error?.messages?.join(', ') ?? 'the API answered'} (${response.status})`)
}

/** The second request. Node's own client streams a body of known length with back-pressure, which fetch does not. */
async function put(upload: UploadDescriptor['direct_upload'], file: string, size: number): Promise<void> {
  const progress = openProgress('Uploading', size)
  const send = upload.url.startsWith('https:') ? httpsRequest : httpRequest
  const request = send(upload.url, { method: 'PUT', headers: { ...upload.headers, 'Content-Length': size } })
  const answered = new Promise<{ status: number; text: string }>((resolve, reject) => {
    request.on('error', reject)
    request.on('response', (response) => {
      response.setEncoding('utf8')
      let text = ''
      response.on('data', (part: string) => {
        text += part
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
      response.on('error', reject)
    })
  })
  const sending = pipeline(createReadStream(file, { highWaterMark: 2 ** 18 }), progress.count, request)
  sending.catch(() => {}) // the answer, or its absence, tells more
  const { status, text } = await answered.catch((error: Error) => {
    throw new Failure(`the upload broke off: ${error.message}`)
  })
  progress.end()
  if (status !== 200)
    throw new Failure(`storage refused the upload (${status}): ${/<Message>(.*?)<\/Message>/s.exec(text)?.[1] ?? text}`)
}
