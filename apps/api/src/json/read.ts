import { setImmediate as nextCycle } from 'node:timers/promises'
import { JsonParser, JsonSyntaxError } from './parser.ts'

/** Number of bytes that are parsed without a pause. Parsing them takes a few ms at most. */
const pieceBytes = 65_536

/**
 * Parses a JSON document in UTF-8 while it arrives. Other requests are served between two pieces of a large document.
 * Reads to the end even if the document is refused, because an idempotency key needs the hash of the whole body.
 *
 * `keepsNumbers` is as in {@link JsonParser}. Throws `JsonSyntaxError` if the bytes are not JSON or not UTF-8. Throws
 * `TooManyValues` beyond `maxValues` values and keys.
 */
export async function readJson(
  chunks: AsyncIterable<Buffer>,
  maxValues: number,
  keepsNumbers = false,
): Promise<unknown> {
  const parser = new JsonParser(maxValues, keepsNumbers)
  // Buffer's decoder would replace invalid bytes by a replacement character instead of throwing.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let problem: unknown
  let bytesSincePause = 0
  const parse = (piece?: Buffer) => {
    if (problem !== undefined) return
    try {
      parser.write(decode(() => decoder.decode(piece, { stream: piece !== undefined })))
    } catch (error) {
      problem = error
    }
  }
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length && problem === undefined; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes)
      parse(piece)
      bytesSincePause += piece.length
      if (bytesSincePause < pieceBytes) continue
      bytesSincePause = 0
      await nextCycle()
    }
  }
  parse()
  if (problem !== undefined) throw problem
  return parser.end()
}

function decode(run: () => string): string {
  try {
    return run()
  } catch (cause) {
    throw new JsonSyntaxError(undefined, { cause })
  }
}
