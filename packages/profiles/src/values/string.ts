import { isLonger, limits } from '@sluice/contract'
import { type RowProblem, tooLong } from './value-type.ts'

/** Says why a text that can be stored is no string value; undefined for a good one. */
export function stringProblem(text: string): RowProblem | undefined {
  return isLonger(text, limits.stringLength) ? tooLong : undefined
}
