import { problemOf, type RowBlock, RowSplitter } from '@sluice/csv'
import { ColumnInference } from '@sluice/profiles'
import type { Columns, ProfileColumn } from './columns.ts'

/**
 * Infers types for the columns of a file that have no type yet (design.md §3, Inference).
 *
 * Reads cells in place, and no more cells than a row has, however wide the header is.
 */
export class SampledColumns {
  readonly #columns: Columns
  readonly #untyped: readonly ProfileColumn[]
  readonly #splitter = new RowSplitter()
  /** Inferences of the columns that had a value so far, by index in `#untyped`. */
  readonly #inferences = new Map<number, ColumnInference>()

  constructor(columns: Columns) {
    this.#columns = columns
    this.#untyped = columns.untyped
  }

  /** Number of unregistered columns for which a type can be inferred so far. Each of these columns needs a new key. */
  get typed(): number {
    return this.#inferences.size
  }

  /** Adds the next row. A row that cannot be read does not count. */
  add(block: RowBlock, row: number): void {
    if (problemOf(block, row) !== undefined) return
    const untyped = this.#untyped
    const { bytes, count, start, end } = this.#splitter.split(block, row, 1 + (untyped.at(-1)?.index ?? 0))
    const columns = this.#columns
    for (let number = 0; number < untyped.length; number++) {
      const index = untyped[number]?.index ?? count
      if (index >= count) return
      const [from, to] = [start[index] ?? 0, end[index] ?? 0]
      if (from !== to && !columns.isClearMarker(bytes, from, to)) this.#addValue(number, bytes, from, to)
    }
  }

  /** Sets the types of the columns from their values. */
  settle(): void {
    for (const [number, inference] of this.#inferences) {
      const [column, type] = [this.#untyped[number], inference.type()]
      if (column !== undefined && type !== undefined) this.#columns.settle(column, type, inference.warnings())
    }
  }

  #addValue(number: number, bytes: Buffer, start: number, end: number): void {
    const inference = this.#inferences.get(number) ?? new ColumnInference()
    inference.add(bytes, start, end)
    if (inference.type() !== undefined) this.#inferences.set(number, inference)
  }
}
