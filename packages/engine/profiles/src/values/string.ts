import { isLonger, limits } from '@sluice/contract'
import { type RowProblem, tooLong } from './value-type.ts'

/**
 * Returns the problem of a text as a string value; undefined if it is valid (service.md, Profile entry;
 * service.md, Limits; design.md §3, String value over 255 characters). The text must not contain NUL.
 */
export function stringProblem(text: string): RowProblem | undefined {
  return isLonger(text, limits.stringLength) ? tooLong : undefined
}
