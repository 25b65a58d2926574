/**
 * What can be wrong with a row (service.md, Error CSV file; design.md §3). In the chunks of an error file its place in this list
 * stands for it. Releases that run side by side read each other's chunks: new texts go to the end.
 */
const texts = [
  'quote is not closed',
  'row is too long',
  'too many values',
  'is unregistered user',
  'should be UTF-8',
  'should be integer',
  'should be decimal',
  'should be iso8601 format',
  'should be at most 255 characters',
] as const

type ProblemText = (typeof texts)[number]

const codes = new Map<ProblemText, number>(texts.map((text, code) => [text, code]))

/** Room for codes within the number of a column. */
const codesPerColumn = 16

/** Stands for the row as a whole, before its first column. */
const wholeRow = -1

/**
 * A problem as a number: in the order of these numbers the problems of a row are in the order of its columns, and those of the
 * row as a whole come first.
 */
export type Problem = number

/** A problem of a row as a whole. */
export function rowProblem(text: 'quote is not closed' | 'row is too long' | 'too many values'): Problem {
  return columnProblem(wholeRow, text)
}

/** A problem of the value in a column, given by its place in the header. */
export function columnProblem(column: number, text: ProblemText): Problem {
  return (column + 1) * codesPerColumn + (codes.get(text) ?? 0)
}

/** The problem of a row whose user is not registered, given the place of the column `user_id`. */
export function unregistered(userIdIndex: number): Problem {
  return columnProblem(userIdIndex, 'is unregistered user')
}

/** Returns the message of a problem in a file with these columns. */
export function messageOf(problem: Problem, columns: readonly string[]): string {
  const text = texts[problem % codesPerColumn] ?? ''
  const column = Math.floor(problem / codesPerColumn) - 1
  return column === wholeRow ? text : `${columns[column]} ${text}`
}
