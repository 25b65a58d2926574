import type { ValueType } from '@sluice/contract'
import { decodeCell } from './cell.ts'
import { TextInference } from './text-inference.ts'

/** Infers the type of a new key from cells, as {@link TextInference} does from texts. */
export class ColumnInference {
  readonly #inference = new TextInference()

  /** Accepts the next cell of the column by where it lies. An empty one, and one that is not UTF-8, doesn't count. */
  add(source: Buffer, start = 0, end = source.length): void {
    // A string column stays one.
    if (start === end || this.#inference.type() === 'string') return
    const text = decodeCell(source, start, end)
    if (text !== undefined) this.#inference.add(text)
  }

  /** The type of all the values so far; undefined while there was none. */
  type(): ValueType | undefined {
    return this.#inference.type()
  }
}
