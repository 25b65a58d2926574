import { rowMessages, valueMessages } from '@sluice/contract'

/**
 * The problems of rows (service.md, Error CSV file; design.md §3). Chunks of an error file identify a text by its index
 * in this list. Releases that run side by side read each other's chunks, so new texts must be added at the end.
 */
export const problemTexts = [
  rowMessages.unclosedQuote,
  rowMessages.tooLong,
  rowMessages.tooManyValues,
  valueMessages.unregisteredUser,
  valueMessages.notUtf8,
  valueMessages.notInteger,
  valueMessages.notDecimal,
  valueMessages.notDatetime,
  valueMessages.tooLong,
  valueMessages.changedSince,
] as const

type ProblemText = (typeof problemTexts)[number]

const codes = new Map<ProblemText, number>(problemTexts.map((text, code) => [text, code]))

/** Codes per column in a {@link Problem}: more than there are texts. */
const codesPerColumn = 16

/** Stands for the row as a whole. It sorts before the first column (design.md §3, Placeholders in messages). */
const wholeRow = -1

/**
 * A problem as a number. Sorted by number, problems of the row as a whole come first, and the others are in the order
 * of the columns.
 */
export type Problem = number

/** Returns a problem of a row as a whole. */
export function rowProblem(text: (typeof rowMessages)[keyof typeof rowMessages]): Problem {
  return columnProblem(wholeRow, text)
}

/** Returns a problem of the value in a column. Accepts the index of the column in the header. */
export function columnProblem(column: number, text: ProblemText): Problem {
  return (column + 1) * codesPerColumn + (codes.get(text) ?? 0)
}

/** Returns the problem of a row whose user is not registered. Accepts the index of the column `user_id`. */
export function unregistered(userIdIndex: number): Problem {
  return columnProblem(userIdIndex, valueMessages.unregisteredUser)
}

/** Returns the message of a problem in a file with these columns. */
export function messageOf(problem: Problem, columns: readonly string[]): string {
  const text = problemTexts[problem % codesPerColumn] ?? ''
  const column = Math.floor(problem / codesPerColumn) - 1
  return column === wholeRow ? text : `${columns[column]} ${text}`
}
