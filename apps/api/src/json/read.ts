import { setImmediate as turn } from 'node:timers/promises'
import { JsonParser, JsonSyntaxError } from './parser.ts'

/** Documents up to this size are parsed at once, and larger ones in pieces of this size, bytes: at most a few ms each. */
const pieceBytes = 65_536

/**
 * Parses a JSON document in UTF-8 while it arrives. Other requests are served between two pieces of a large one.
 *
 * Throws `JsonSyntaxError` also for bytes that are not UTF-8, and `TooManyValues` beyond `mostValues` values and keys.
 */
export async function readJson(chunks: AsyncIterable<Buffer>, mostValues: number): Promise<unknown> {
  const parser = new JsonParser(mostValues)
  // Unlike Buffer's decoder, this one never makes a replacement character out of bytes that are none.
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let bytes = 0
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; at += pieceBytes) {
      const piece = chunk.subarray(at, at + pieceBytes)
      parser.write(decode(() => decoder.decode(piece, { stream: true })))
      bytes += piece.length
      if (bytes < pieceBytes) continue
      bytes = 0
      await turn()
    }
  }
  parser.write(decode(() => decoder.decode()))
  return parser.end()
}

function decode(run: () => string): string {
  try {
    return run()
  } catch (cause) {
    throw new JsonSyntaxError(undefined, { cause })
  }
}
