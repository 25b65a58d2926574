import { LineWriter } from '@sluice/csv'
import { messageOf, type Problem } from './problems.ts'

/** The messages of a row take at most so many bytes in its SERVICE_ERRORS cell (design.md §3, Error file's size). */
const longestCell = 64 * 2 ** 10

const separator = Buffer.from(', ')

/** A cell that begins so is a formula for a spreadsheet. */
const formulaStart = /^[=+\-@\t\r\n]/

/** Stands before messages that would begin so. Values are not marked: their columns are read when the file is uploaded again. */
const textMark = Buffer.from("'")

/** A message as it stands in an error file. */
interface Message {
  bytes: Buffer
  quotes: number
  /** On its own it needs quotes around it. */
  isSpecial: boolean
  /** A spreadsheet would take a cell that begins with it for a formula: it names a column such as `=HYPERLINK(…)`. */
  isFormula: boolean
}

/** How the messages of a row fit into its cell. */
interface Fit {
  /** How many are in the cell; the others are counted. */
  shown: number
  /** Bytes of the cell in a line, with quotes if it needs some. */
  byteSize: number
  isQuoted: boolean
  isMarked: boolean
}

/** The messages of a file's rows, joined by `, ` in the cell that holds them. If some do not fit, it ends in `and 340 more`. */
export class Messages {
  readonly #columns: readonly string[]
  readonly #known = new Map<Problem, Message>()
  readonly #cell = new LineWriter()

  constructor(columns: readonly string[]) {
    this.#columns = columns
  }

  /** Returns the bytes that a row's problems take in a line. */
  byteSize(problems: readonly Problem[]): number {
    return this.#fit(problems).byteSize
  }

  /** Returns the cell of a row's problems as it stands in a line, valid until the next call. */
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
      if (bytes + size > longestCell) break
      bytes += size
      quotes += next.quotes
      isSpecial ||= next.isSpecial
    }
    // The count of the others has to fit as well.
    while (shown > 1 && bytes + remainder(count - shown).length > longestCell) {
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

/** What stands after the messages of a cell if it leaves some out. */
function remainder(leftOut: number): string {
  return leftOut === 0 ? '' : `, and ${leftOut} more`
}
