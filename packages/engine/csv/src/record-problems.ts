/** Why a line cannot be read as a record (design.md §3, CSV dialect). */
export type RecordProblem = 'unclosed quote' | 'too long'

/**
 * The codes of problems. A record takes one byte and no object, because a file may have a problem in every third byte.
 */
export const wellFormed = 0
export const unclosedQuote = 1
export const tooLong = 2

const byCode: readonly (RecordProblem | undefined)[] = [undefined, 'unclosed quote', 'too long']

/**
 * Returns why a record cannot be read; undefined if it is well-formed.
 *
 * @example
 * ```ts
 * const [block] = await Array.fromAsync(readRows(Readable.from([Buffer.from('"bob,35\nalice,34\n')])))
 * problemOf(block, 0) // → "unclosed quote"
 * problemOf(block, 1) // → undefined
 * ```
 */
export function problemOf({ problems }: { problems?: Uint8Array }, record: number): RecordProblem | undefined {
  return problems === undefined ? undefined : byCode[problems[record] ?? wellFormed]
}
