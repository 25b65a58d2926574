import { Readable } from 'node:stream'
import { responseTimeoutMs } from './client.ts'
import type { SizedBody } from './storage.ts'

/** The body does not have the declared number of bytes. */
class WrongLength extends Error {
  override readonly name = 'WrongLength'
}

interface SendOptions {
  abortSignal: AbortSignal
  requestTimeout: number
}

/**
 * Sends a request whose body is read while it is sent. Ends the request if reading fails or storage stalls. Returns the
 * answer.
 *
 * The SDK alone does neither. It does not notice if reading the body fails, and waits for the rest forever. It cannot
 * distinguish a slow sender from storage that accepts no more bytes.
 *
 * `send` sends the request. The request times out if storage accepts no bytes, or does not answer, for
 * {@link responseTimeoutMs}. `signal` aborts the request with an AbortError. Throws the errors of reading the body and
 * of the request.
 */
export async function sendBody<Answer>(
  body: SizedBody,
  send: (body: Readable | Buffer, options: SendOptions) => Promise<Answer>,
  signal?: AbortSignal,
): Promise<Answer> {
  const broken = new AbortController()
  let failure: Error | undefined
  const fail = (error: Error) => {
    failure ??= error
    broken.abort()
  }
  const stallTimer = createStallTimer(() => fail(new Error(`storage did not respond for ${responseTimeoutMs} ms`)))
  const stream = Readable.from(timedChunks(body, stallTimer))
  stream.on('error', fail)
  const abortSignal = signal === undefined ? broken.signal : AbortSignal.any([broken.signal, signal])
  try {
    // The SDK cannot know the length of a stream without a byte, so an empty body is sent as a Buffer.
    const whole = body.byteSize === 0 ? Buffer.concat(await stream.toArray()) : undefined
    return await send(whole ?? stream, { abortSignal, requestTimeout: 0 })
  } catch (error) {
    throw failure ?? error
  } finally {
    stallTimer.stop()
    stream.destroy()
  }
}

/**
 * A timer that runs while this process waits for storage, and stands still while it waits for the sender of the body.
 */
interface StallTimer {
  start(): void
  stop(): void
}

function createStallTimer(onTimeout: () => void): StallTimer {
  let timer: NodeJS.Timeout | undefined
  return {
    start() {
      timer = setTimeout(onTimeout, responseTimeoutMs)
      timer.unref()
    },
    stop: () => clearTimeout(timer),
  }
}

/**
 * Yields the chunks of a body. The timer runs while storage handles a chunk, and after the last chunk.
 *
 * Throws {@link WrongLength} if the body does not have `byteSize` bytes.
 */
async function* timedChunks({ byteSize, chunks }: SizedBody, stallTimer: StallTimer): AsyncGenerator<Uint8Array> {
  let left = byteSize
  for await (const chunk of chunks) {
    left -= chunk.length
    if (left < 0) throw new WrongLength(`the body has more than ${byteSize} bytes`)
    stallTimer.start()
    yield chunk
    stallTimer.stop()
  }
  if (left > 0) throw new WrongLength(`the body has ${byteSize - left} bytes instead of ${byteSize}`)
  stallTimer.start()
}
