import type { UploadDescriptor } from '@sluice/contract/answers'
import { ofFile } from './checksum.ts'
import { type Connection, causeOf, retryAfterOf } from './connection.ts'
import { NetworkError, UploadError } from './errors.ts'

/** An upload times out after this time without progress, ms. */
export const stallTimeoutMs = 60_000

/**
 * Sends a file to storage. Calls `onBytes` with the number of bytes so far. If the bytes cannot be counted, as in
 * browsers, calls it only at the end.
 *
 * Throws {@link NetworkError} if the upload breaks off, {@link UploadError} if storage refuses it, and
 * `SluiceError` if the file cannot be read, for example because it has changed. Errors of `onBytes` are thrown as
 * they are.
 */
export async function putFile(
  { fetch }: Connection,
  { url, headers }: UploadDescriptor['direct_upload'],
  file: Blob,
  { onBytes, signal }: { onBytes?: ((bytes: number) => void) | undefined; signal?: AbortSignal | undefined } = {},
): Promise<void> {
  const stall = new AbortController()
  const body = sendsLength() ? countedBody(file, stall, onBytes) : { init: { body: file }, stop: () => undefined }
  const stop = signal === undefined ? stall.signal : AbortSignal.any([signal, stall.signal])
  const sizes: Record<string, string> = sendsLength() ? { 'Content-Length': String(file.size) } : {}
  try {
    const response = await fetch(url, { method: 'PUT', headers: { ...headers, ...sizes }, signal: stop, ...body.init })
    const text = await response.text()
    if (!response.ok) throw refusal(response, text)
  } catch (error) {
    signal?.throwIfAborted()
    if (error instanceof UploadError) throw error
    const failure = body.stop()
    throw failure === undefined ? new NetworkError(`the upload was interrupted: ${causeOf(error)}`) : failure.error
  } finally {
    body.stop()
  }
  onBytes?.(file.size)
}

/**
 * Whether `fetch` sends a given `Content-Length`, as Node does. Only then can a stream be the body, because storage
 * refuses a body without a length. Browsers ignore the header, and send the length of a Blob themselves.
 */
function sendsLength(): boolean {
  const request = new Request('http://localhost', { method: 'PUT', headers: { 'Content-Length': '0' } })
  return request.headers.has('Content-Length')
}

/** Without these options, `fetch` of Node keeps all of a stream in memory, to send it again after a redirect. */
const streamedOnce = { redirect: 'error', window: null } as const

/**
 * Returns a body that counts its bytes, and that aborts the upload when nothing has moved for too long. `stop` ends the
 * counting, and returns why the body could not be made, if it could not.
 */
function countedBody(file: Blob, stall: AbortController, onBytes: ((bytes: number) => void) | undefined) {
  let bytes = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let [isStopped, isCancelled] = [false, false]
  let failure: { error: unknown } | undefined
  const moved = () => {
    clearTimeout(timer)
    // The stream may still be read after storage has answered. No new timer must begin then.
    if (!isStopped)
      timer = setTimeout(() => stall.abort(new Error(`nothing moved for ${stallTimeoutMs / 1000} s`)), stallTimeoutMs)
  }
  moved()
  const reader = file.stream().getReader()
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await ofFile(reader.read())
        // The upload may have broken off meanwhile, which closes the stream.
        if (isCancelled) return
        if (done) return controller.close()
        moved()
        bytes += value.length
        onBytes?.(bytes)
        controller.enqueue(value)
      } catch (error) {
        failure = { error }
        throw error
      }
    },
    cancel(reason) {
      isCancelled = true
      return reader.cancel(reason)
    },
  })
  const stop = () => {
    isStopped = true
    clearTimeout(timer)
    return failure
  }
  return { init: { body, duplex: 'half' as const, ...streamedOnce }, stop }
}

function refusal(response: Response, text: string): UploadError {
  const element = (name: string) => new RegExp(`<${name}>(.*?)</${name}>`, 's').exec(text)?.[1]
  return new UploadError({
    status: response.status,
    code: element('Code'),
    text: element('Message') ?? text,
    retryAfterMs: retryAfterOf(response),
  })
}
