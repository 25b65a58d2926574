import type { ValueType } from '@sluice/contract'
import { decodeCell } from './cell.ts'
import type { InferenceWarning } from './inference-warning.ts'
import { TextInference } from './text-inference.ts'

/** Infers the type of a new key from cells, by the rules of {@link TextInference}. */
export class ColumnInference {
  readonly #inference = new TextInference()

  /**
   * Adds the next cell of the column, `source` from `start` to `end`. An empty cell, or one that is not UTF-8, does not
   * count.
   */
  add(source: Buffer, start = 0, end = source.length): void {
    if (start === end) return
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
