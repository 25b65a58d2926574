import { notUtf8, type RowProblem, tooLong } from './value-type.ts'

/** Longest string value, Unicode code points (service.md, Limits). */
const maxLength = 255

/** What keeps a text from being stored as a string value; undefined where nothing does (design.md §3, Strings). */
export function stringProblem(text: string): RowProblem | undefined {
  if (text.includes('\0') || !text.isWellFormed()) return notUtf8
  return isOver(text, maxLength) ? tooLong : undefined
}

function isOver(text: string, codePoints: number): boolean {
  // A code point is one or two UTF-16 units: most texts need no counting.
  if (text.length <= codePoints) return false
  if (text.length > 2 * codePoints) return true
  let count = 0
  for (const _ of text) count++
  return count > codePoints
}
