import { isLonger, limits } from '@sluice/contract'
import { notUtf8, type RowProblem, tooLong } from './value-type.ts'

/** What keeps a text from being stored as a string value; undefined where nothing does (design.md §3, Strings). */
export function stringProblem(text: string): RowProblem | undefined {
  if (text.includes('\0') || !text.isWellFormed()) return notUtf8
  return isLonger(text, limits.stringLength) ? tooLong : undefined
}
