/** Why a line is not read as a record (design.md §3, CSV dialect). */
export type RecordProblem = 'unclosed quote' | 'too long'

/** What stands for a problem in a list with one byte for each record: a file may have a problem in every third byte. */
export const wellFormed = 0
export const unclosedQuote = 1
export const tooLong = 2

const byCode: readonly (RecordProblem | undefined)[] = [undefined, 'unclosed quote', 'too long']

/** Returns why a record cannot be read; undefined if it is well-formed. */
export function problemOf({ problems }: { problems?: Uint8Array }, record: number): RecordProblem | undefined {
  return problems === undefined ? undefined : byCode[problems[record] ?? wellFormed]
}
