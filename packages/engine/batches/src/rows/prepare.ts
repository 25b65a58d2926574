import { setImmediate } from 'node:timers/promises'
import { type ImportWarning, type ValueType, valueMessages } from '@sluice/contract'
import { type Cells, isText, problemOf, type RowBlock, RowSplitter, rowOffset } from '@sluice/csv'
import { addSpelling } from '@sluice/profiles'
import type { Columns } from '../columns/columns.ts'
import { SampledColumns } from '../columns/sampled-columns.ts'
import type { ProfileBatch } from '../documents/profile-batch.ts'
import type { KeptRows } from '../errors/kept-rows.ts'
import { columnProblem, type Problem, unregistered } from '../errors/problems.ts'
import { foundStates, hashBytes } from '../hashes/hash-program.ts'
import type { RowHashes } from '../hashes/row-hashes.ts'
import { hashOf } from '../hashes/user-hash.ts'
import { type RowBatch, splitBatch } from './cut.ts'

/**
 * The memory of a batch. One batch after another uses it: allocating it for each batch would leave megabytes of
 * garbage.
 */
export interface BatchMemory {
  /** The users of the rows with a hash of each row, and later the values of the rows. */
  profileBatch: ProfileBatch
  /** The rows that are not applied, which are kept for the error file. */
  keptRows: KeptRows
}

/** A batch whose rows have been assigned to users. Nothing else of the rows has been read. */
interface AssignedBatch extends RowBatch, BatchMemory {
  /**
   * By row, the number of its user in `profileBatch`; {@link noUser} if the row or its ID cannot be read, and
   * {@link ofKnownRow} if the user's profile holds the row.
   */
  users: Int32Array
  /** Number of the rows that are not known. */
  unknownRows: number
}

/** A batch that can be sent to the database. */
export interface PreparedBatch extends AssignedBatch {
  /** `writtenKeys` of the columns when the batch began. Which columns are ignored may change while it is in flight. */
  pairKeys: readonly (Buffer | undefined)[]
  /** Types of the columns, by key, as far as they are settled after this batch. */
  types: Readonly<Record<string, ValueType>>
  /** Warnings about the inferred types, as of the last row of this batch. */
  warnings: readonly ImportWarning[]
  /** As in `Columns`, as of the last row of this batch. */
  spellingCounts: readonly (readonly number[])[]
  /** The batch may register keys: some columns have a type but no registered key. */
  mayRegister: boolean
}

/** The number in `users` for a row without a readable user ID. */
export const noUser = -1

/** The number in `users` for a row whose values the profile is known to hold, without a lookup. */
export const ofKnownRow = -2

/**
 * Settles the types of columns that had no value so far, from the values of this batch (design.md §3, Inference).
 * Changes `columns`.
 */
export function settleTypes({ slices }: RowBatch, columns: Columns): void {
  if (columns.untyped.length === 0) return
  const sampled = new SampledColumns(columns)
  for (const { block, from, to } of slices) for (let row = from; row < to; row++) sampled.add(block, row)
  sampled.settle()
}

/**
 * Counts the values of this batch that lose their spelling in an inferred type. Must be called once for each batch, in
 * file order, after its types are settled. Changes `columns`.
 */
export function countSpellings({ slices }: RowBatch, columns: Columns): void {
  // second-day.md §1, Warnings.
  const all = [...columns.watched].filter(([{ ignored }]) => !ignored)
  if (all.length === 0) return
  const most = 1 + Math.max(...all.map(([{ index }]) => index))
  const splitter = new RowSplitter()
  for (const { block, from, to } of slices) {
    for (let row = from; row < to; row++) {
      if (problemOf(block, row) !== undefined) continue
      const { bytes, count, start: starts, end: ends } = splitter.split(block, row, most)
      for (const [{ index, type }, losses] of all) {
        const [start, end] = [starts[index] ?? 0, ends[index] ?? 0]
        if (index >= count || start === end || columns.isClearMarker(bytes, start, end)) continue
        if (type === 'int' || type === 'decimal') addSpelling(losses, type, bytes, start, end)
      }
    }
  }
}

/** How many rows of a batch that are not known there may be, and their bytes. */
export interface MostUnknown {
  rows: number
  bytes: number
}

/**
 * Adds the users of the rows to the memory, which must not have any users yet. Returns the batch and, if too many of
 * its rows are not known, the rows that are left for another one. At least one row is assigned.
 *
 * Yields to the event loop after each block of rows. Otherwise a preceding batch, for which Postgres has already
 * answered, would keep its locks until all rows of this batch are hashed.
 */
export async function assignUsers(
  batch: RowBatch,
  memory: BatchMemory,
  { columns, rowHashes }: { columns: Columns; rowHashes: RowHashes },
  most: MostUnknown,
): Promise<[assigned: AssignedBatch, rest: RowBatch | undefined]> {
  const { profileBatch } = memory
  const users = new Int32Array(batch.rows).fill(noUser)
  const { userIdIndex } = columns
  const program = rowHashes.known?.program
  const cells = new RowSplitter()
  const assigned = (rows: number, unknownRows: number): [AssignedBatch, RowBatch | undefined] => {
    const [first, rest] = splitBatch(batch, rows)
    return [{ ...first, ...memory, users, unknownRows }, rest]
  }
  let [number, unknownRows, bytes] = [0, 0, 0]
  for (const { block, from, to } of batch.slices) {
    const { hashes, found } = rowHashes.of(block, from, to, columns)
    for (let row = from; row < to; row++, number++) {
      const state = found?.[row - from]
      if (state === foundStates.known) {
        users[number] = ofKnownRow
        continue
      }
      const hasId = readUserId(cells, block, row, userIdIndex)
      const [start, end] = [cells.start[userIdIndex] ?? 0, cells.end[userIdIndex] ?? 0]
      const idHash = hasId ? hashOf(cells.bytes, start, end) : 0
      if (hasId && state === foundStates.unsure && program?.isWritten(idHash) === false) {
        users[number] = ofKnownRow
        continue
      }
      if (unknownRows >= most.rows || bytes >= most.bytes) return assigned(number, unknownRows)
      unknownRows++
      bytes += rowOffset(block, row + 1) - rowOffset(block, row)
      if (!hasId) continue
      program?.noteWritten(idHash)
      const user = profileBatch.addRow(cells.bytes, start, end, idHash)
      profileBatch.addHash(user, hashes, (row - from) * hashBytes)
      users[number] = user
    }
    await setImmediate()
  }
  return assigned(number, unknownRows)
}

/** Splits a row up to its user ID. Returns whether the ID can be looked up. */
function readUserId(cells: RowSplitter, block: RowBlock, row: number, userIdIndex: number): boolean {
  if (problemOf(block, row) !== undefined) return false
  cells.split(block, row, userIdIndex + 1)
  return userIdCellProblem(cells, block.isText, userIdIndex) === undefined
}

/** Adds what the columns are as of the last row of a batch. */
export function prepareBatch(batch: AssignedBatch, columns: Columns): PreparedBatch {
  const { types, warnings, spellingCounts, unregistered, writtenKeys: pairKeys } = columns
  return { ...batch, pairKeys, types, warnings, spellingCounts, mayRegister: unregistered.length > 0 }
}

/**
 * Returns the problem of a row's user ID; undefined if the ID can be looked up. `areText`: all cells are UTF-8 without
 * NUL.
 */
export function userIdCellProblem(cells: Cells, areText: boolean, userIdIndex: number): Problem | undefined {
  const [start, end] = [cells.start[userIdIndex], cells.end[userIdIndex]]
  if (userIdIndex >= cells.count || start === end) return unregistered(userIdIndex)
  const isReadable = areText || isText(cells.bytes.subarray(start, end))
  return isReadable ? undefined : columnProblem(userIdIndex, valueMessages.notUtf8)
}
