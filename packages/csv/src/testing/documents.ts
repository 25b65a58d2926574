import fc from 'fast-check'

/** Cuts bytes at the given shares (0 to 1) of their length; chunks may be empty. */
export function cut(bytes: Buffer, shares: readonly number[]): Buffer[] {
  const ends = [...shares, 1].map((share) => Math.round(share * bytes.length)).sort((a, b) => a - b)
  return ends.map((end, index) => bytes.subarray(ends[index - 1] ?? 0, end))
}

/** Any places to cut at. */
export const cuts = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 })

/** Documents made of the bytes that matter, well-formed or not. */
export const anyDocument = fc
  .array(fc.constantFrom('a', ',', '"', '\r', '\n', '\r\n', '""', '",', ',"', '"\n', 'é'), { maxLength: 40 })
  .map((parts) => Buffer.from(parts.join('')))

/** Bytes of a cell, those that matter to the format more often than others. */
const anyCell = fc
  .array(fc.oneof(fc.constantFrom(...Buffer.from(',"\r\n ab')), fc.integer({ min: 0, max: 255 })), { maxLength: 8 })
  .map((bytes) => Buffer.from(bytes))

/** A table of cells, and a document that says it with some quoting, line ends and blank lines. */
export const tableAndDocument = fc
  .array(
    fc.record({
      cells: fc.array(fc.record({ bytes: anyCell, quote: fc.boolean() }), { minLength: 1, maxLength: 4 }),
      lineBreak: fc.constantFrom('\n', '\r\n'),
      blankLines: fc.constantFrom('', '', '', '\n', '\r\n', '\n\n'),
    }),
    { maxLength: 8 },
  )
  .chain((rows) => fc.boolean().map((endsWithBreak) => ({ rows, endsWithBreak })))
  .map(({ rows, endsWithBreak }) => ({
    table: rows.map(({ cells }) => cells.map(({ bytes }) => bytes)),
    document: Buffer.concat(
      rows.map(({ cells, lineBreak, blankLines }, index) => {
        const isLast = index === rows.length - 1
        const line = cells.map(({ bytes, quote }) => write(bytes, quote || (cells.length === 1 && bytes.length === 0)))
        const end = isLast && !endsWithBreak ? '' : lineBreak + blankLines
        return Buffer.from(`${line.join(',')}${end}`, 'latin1')
      }),
    ),
  }))

/** A cell as it may stand in a file, each byte as one character. */
function write(cell: Buffer, quote: boolean): string {
  const text = cell.toString('latin1')
  return quote || /^"|[,\n]|\r$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
}

/** A source of chunks that says whether its reader has let go of it. */
export function sourceOf(chunks: readonly Buffer[]): AsyncIterable<Buffer> & { ended: boolean; given: number } {
  const source = {
    ended: false,
    given: 0,
    async *[Symbol.asyncIterator]() {
      try {
        for (const chunk of chunks) {
          source.given++
          yield chunk
        }
      } finally {
        source.ended = true
      }
    },
  }
  return source
}
