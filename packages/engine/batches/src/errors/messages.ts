import { LineWriter } from '@sluice/csv'
import { messageOf, type Problem } from './problems.ts'

/** Maximum number of bytes of a row's messages in its SERVICE_ERRORS cell (design.md §3, Error file's size). */
const longestCellBytes = 64 * 2 ** 10

const separator = Buffer.from(', ')

/** A spreadsheet interprets a cell with such a beginning as a formula. */
const formulaStart = /^[=+\-@\t\r\n]/

/**
 * Precedes a cell of messages that looks like a formula. Values get no mark, because it would become part of the value
 * when the file is uploaded again.
 */
const textMark = Buffer.from("'")

/** A message as it is in an error file. */
interface Message {
  bytes: Buffer
  /** Quotes in the text, which a quoted cell doubles. */
  quotes: number
  /** A cell with only this message needs quotes. */
  isSpecial: boolean
  /** The message looks like a formula, because it begins with the name of a column such as `=HYPERLINK(…)`. */
  isFormula: boolean
}

/** How the messages of a row fit into its cell. */
interface Fit {
  /** Number of messages in the cell. The cell ends with the number of the others. */
  shown: number
  /** Bytes of the cell in a line, including quotes if it needs any. */
  byteSize: number
  isQuoted: boolean
  isMarked: boolean
}

/**
 * Makes the SERVICE_ERRORS cells of a file's rows. A cell has the messages of its row, joined by `, `. If some messages
 * do not fit, the cell ends in their number, for example `and 340 more`.
 */
export class Messages {
  readonly #columns: readonly string[]
  readonly #known = new Map<Problem, Message>()
  readonly #cell = new LineWriter()

  /** Accepts the uploaded columns. */
  constructor(columns: readonly string[]) {
    this.#columns = columns
  }

  /** Returns the bytes that a row's problems take in a line. */
  byteSize(problems: readonly Problem[]): number {
    return this.#fit(problems).byteSize
  }

  /** Returns the cell of a row's problems as it is in a line, valid until the next call. */
  cell(problems: readonly Problem[]): Buffer {
    const { shown, byteSize, isQuoted, isMarked } = this.#fit(problems)
    const text = Buffer.concat([
      ...(isMarked ? [textMark] : []),
      ...problems.slice(0, shown).flatMap((problem, index) => {
        const { bytes } = this.#of(problem)
        return index === 0 ? [bytes] : [separator, bytes]
      }),
      Buffer.from(remainder(problems.length - shown)),
    ])
    if (!isQuoted) return text
    this.#cell.value(text, 0, text.length)
    return this.#cell.take().subarray(0, byteSize) // without the comma
  }

  #fit(problems: readonly Problem[]): Fit {
    const count = problems.length
    const isMarked = count > 0 && this.#of(problems[0] ?? 0).isFormula
    let [shown, bytes, quotes, isSpecial] = [0, isMarked ? textMark.length : 0, 0, count > 1]
    for (; shown < count; shown++) {
      const next = this.#of(problems[shown] ?? 0)
      const size = (shown === 0 ? 0 : separator.length) + next.bytes.length
      if (bytes + size > longestCellBytes) break
      bytes += size
      quotes += next.quotes
      isSpecial ||= next.isSpecial
    }
    // The number of the others must fit as well.
    while (shown > 1 && bytes + remainder(count - shown).length > longestCellBytes) {
      const last = this.#of(problems[--shown] ?? 0)
      bytes -= separator.length + last.bytes.length
      quotes -= last.quotes
    }
    const byteSize = bytes + remainder(count - shown).length
    return { shown, byteSize: isSpecial ? byteSize + quotes + 2 : byteSize, isQuoted: isSpecial, isMarked }
  }

  #of(problem: Problem): Message {
    const known = this.#known.get(problem)
    if (known !== undefined) return known
    const text = messageOf(problem, this.#columns)
    const quotes = text.split('"').length - 1
    const [isSpecial, isFormula] = [/[",\r\n]/.test(text), formulaStart.test(text)]
    const message = { bytes: Buffer.from(text), quotes, isSpecial, isFormula }
    this.#known.set(problem, message)
    return message
  }
}

/** Returns the text that follows the messages of a cell if it leaves some out. */
function remainder(leftOut: number): string {
  return leftOut === 0 ? '' : `, and ${leftOut} more`
}
