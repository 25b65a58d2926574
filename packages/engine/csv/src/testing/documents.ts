import fc from 'fast-check'

/** Cuts bytes at the given fractions (0 to 1) of their length. Chunks may be empty. */
export function cut(bytes: Buffer, shares: readonly number[]): Buffer[] {
  const ends = [...shares, 1].map((share) => Math.round(share * bytes.length)).sort((a, b) => a - b)
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

/** Any fractions at which to cut. */
export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })

/** Documents of the bytes with a meaning in CSV, well-formed or not. */
export const anyDocument = fc
  .array(fc.constantFrom('a', ',', '"', '\r', '\n', '\r\n', '""', '",', ',"', '"\n', 'é'), { maxLength: 40 })
  .map((parts) => Buffer.from(parts.join('')))

/** Bytes of a cell. Bytes with a meaning in CSV are more frequent than others. */
const anyCell = fc
  .array(fc.oneof(fc.constantFrom(...Buffer.from(',"\r\n ab')), fc.integer({ min: 0, max: 255 })), { maxLength: 8 })
  .map((bytes) => Buffer.from(bytes))

/**
 * A table of cells, and a document of the table with some quoting, line breaks and blank lines. The document also has
 * rows in which every value is empty.
 */
export const tableAndDocument = fc
  .array(
    fc.record({
      cells: fc.array(fc.record({ bytes: anyCell, quote: fc.boolean() }), { minLength: 1, maxLength: 4 }),
      lineBreak: fc.constantFrom('\n', '\r\n', '\r\r\n'),
      blankLines: fc.constantFrom('', '', '', '\n', '\r\n', '\n\n', ',\n', '""\r\n'),
    }),
    { maxLength: 8 },
  )
  .chain((rows) => fc.boolean().map((endsWithBreak) => ({ rows, endsWithBreak })))
  .map(({ rows, endsWithBreak }) => ({
    table: rows
      .map(({ cells }) => cells.map(({ bytes }) => bytes))
      .filter((cells) => cells.some(({ length }) => length > 0)),
    document: Buffer.concat(
      rows.map(({ cells, lineBreak, blankLines }, index) => {
        const isLast = index === rows.length - 1
        const line = cells.map(({ bytes, quote }) => write(bytes, quote || (cells.length === 1 && bytes.length === 0)))
        const end = isLast && !endsWithBreak ? '' : lineBreak + blankLines
        return Buffer.from(`${line.join(',')}${end}`, 'latin1')
      }),
    ),
  }))

/** Returns a cell as a file may contain it; each character stands for a byte. */
function write(cell: Buffer, quote: boolean): string {
  const text = cell.toString('latin1')
  return quote || /^"|[,\n]|\r$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** Returns a source that records how many chunks were read from it, and whether its reader has ended it. */
export function sourceOf(chunks: readonly Buffer[]): AsyncIterable<Buffer> & { ended: boolean; chunksRead: number } {
  const source = {
    ended: false,
    chunksRead: 0,
    async *[Symbol.asyncIterator]() {
      try {
        for (const chunk of chunks) {
          source.chunksRead++
          yield chunk
        }
      } finally {
        source.ended = true
      }
    },
  }
  return source
}
