import { problemOf, type RowBlock } from '@sluice/csv'
import { ColumnInference } from '@sluice/profiles'
import { isClearMarker } from './clear-marker.ts'
import type { Columns, ProfileColumn } from './columns.ts'

/**
 * Infers types for the columns of a file that have no type yet (design.md §3, Inference).
 *
 * Reads cells in place, and no more cells than a row has, however wide the header is.
 */
export class SampledColumns {
  readonly #columns: Columns
  readonly #untyped: readonly ProfileColumn[]
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
    const { bytes, firstCell, cellStart, cellEnd } = block
    const first = firstCell[row] ?? 0
    const count = (firstCell[row + 1] ?? 0) - first
    const untyped = this.#untyped
    const { clearMarker } = this.#columns
    for (let number = 0; number < untyped.length; number++) {
      const index = untyped[number]?.index ?? count
      if (index >= count) return
      const [start, end] = [cellStart[first + index] ?? 0, cellEnd[first + index] ?? 0]
      if (start !== end && !isClearMarker(clearMarker, bytes, start, end)) this.#addValue(number, bytes, start, end)
    }
  }

  /** Sets the types of the columns from their values. */
  settle(): void {
    for (const [number, inference] of this.#inferences) {
      const [column, type] = [this.#untyped[number], inference.type()]
      if (column !== undefined && type !== undefined) this.#columns.settle(column, type, inference.losses())
    }
  }

  #addValue(number: number, bytes: Buffer, start: number, end: number): void {
    const inference = this.#inferences.get(number) ?? new ColumnInference()
    inference.add(bytes, start, end)
    if (inference.type() !== undefined) this.#inferences.set(number, inference)
  }
}
