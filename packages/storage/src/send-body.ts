import { Readable } from 'node:stream'

/** Bytes to send: as many as `byteSize` says, or reading them throws, and then nothing is stored. */
export interface SizedBody {
  byteSize: number
  chunks: AsyncIterable<Uint8Array>
}

/** The body has other bytes than was said. */
class WrongLength extends Error {
  override readonly name = 'WrongLength'
}

/** What the SDK takes beside a command. */
interface SendOptions {
  abortSignal: AbortSignal
  requestTimeout: number
}

/**
 * Sends a request with a body that is read while it is sent. The SDK does not notice that reading it fails: the request
 * would wait for the rest for ever. Nor can it tell a slow sender from storage that takes nothing any more.
 *
 * Takes how the request is sent, how long storage may take nothing, or owe its answer (`silence`, ms), and a signal that ends
 * it with an AbortError. Throws what reading the body throws, and what the request does.
 */
export async function sendBody<Answer>(
  body: SizedBody,
  send: (body: Readable | Buffer, options: SendOptions) => Promise<Answer>,
  { silence, signal }: { silence: number; signal?: AbortSignal | undefined },
): Promise<Answer> {
  const broken = new AbortController()
  let failure: Error | undefined
  const giveUp = (error: Error) => {
    failure ??= error
    broken.abort()
  }
  const debt = openDebt(silence, () => giveUp(new Error(`storage has been silent for ${silence} ms`)))
  const stream = Readable.from(handOver(body, debt))
  stream.on('error', giveUp)
  const abortSignal = signal === undefined ? broken.signal : AbortSignal.any([broken.signal, signal])
  try {
    // A stream without a byte is one of unknown length to the SDK.
    const whole = body.byteSize === 0 ? Buffer.concat(await stream.toArray()) : undefined
    return await send(whole ?? stream, { abortSignal, requestTimeout: 0 })
  } catch (error) {
    throw failure ?? error
  } finally {
    debt.settle()
    stream.destroy()
  }
}

/** What storage owes: to take what was handed to it, and its answer in the end. */
interface Debt {
  begin(): void
  settle(): void
}

function openDebt(limit: number, onDefault: () => void): Debt {
  let timer: NodeJS.Timeout | undefined
  return {
    begin() {
      timer = setTimeout(onDefault, limit)
      timer.unref()
    },
    settle: () => clearTimeout(timer),
  }
}

/** The chunks of a body; while one of them is in storage's hands, storage owes. Throws {@link WrongLength}. */
async function* handOver({ byteSize, chunks }: SizedBody, debt: Debt): AsyncGenerator<Uint8Array> {
  let left = byteSize
  for await (const chunk of chunks) {
    left -= chunk.length
    if (left < 0) throw new WrongLength(`the body has more than ${byteSize} bytes`)
    debt.begin()
    yield chunk
    debt.settle()
  }
  if (left > 0) throw new WrongLength(`the body has ${byteSize - left} bytes instead of ${byteSize}`)
  debt.begin()
}
