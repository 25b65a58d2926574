import type { ValueType } from '@sluice/contract'
import { decodeCell } from './cell.ts'
import type { InferenceWarning } from './inference-warning.ts'
import { exactDigits, type NumberType, type SpellingLosses } from './spelling.ts'
import { isOfType, TextInference } from './text-inference.ts'

/** Infers the type of a new key from cells, by the rules of {@link TextInference}. */
export class ColumnInference {
  readonly #inference = new TextInference()

  /**
   * Adds the next cell of the column, `source` from `start` to `end`. An empty cell, or one that is not UTF-8, does not
   * count.
   */
  add(source: Buffer, start = 0, end = source.length): void {
    const text = decodeCell(source, start, end)
    if (text !== undefined) this.#inference.add(text)
  }

  /** Returns the type of all values so far; undefined if there was none. */
  type(): ValueType | undefined {
    return this.#inference.type()
  }

  /** Returns warnings about the inferred type, by the rules of {@link TextInference}. */
  warnings(): InferenceWarning[] {
    return this.#inference.warnings()
  }
}

const plus = 0x2b
const minus = 0x2d
const [zero, nine] = [0x30, 0x39]

/**
 * Adds the next cell of a column to its losses, `source` from `start` to `end`. A cell that is no value of the type
 * loses nothing. Nearly all cells need a look at their first bytes only.
 */
export function addSpelling(
  losses: SpellingLosses,
  type: NumberType,
  source: Buffer,
  start: number,
  end: number,
): void {
  const first = source[start] ?? 0
  const at = first === minus ? start + 1 : start
  const next = source[at + 1] ?? 0
  const beginsWithZero = source[at] === zero && at + 1 < end && next >= zero && next <= nine
  const mayLose = beginsWithZero || first === plus || end - start > exactDigits
  const text = mayLose ? decodeCell(source, start, end) : undefined
  if (text !== undefined && isOfType(text, type)) losses.add(text)
  else losses.addExact()
}
