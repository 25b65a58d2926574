import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { type Column, customer, narrow, type Random, wide } from './columns.ts'

/** The shape of a benchmark's file. Equal shapes produce equal bytes. */
export interface Shape {
  /** Names the file. */
  name: string
  rows: number
  /** Number of users in the rows, who then recur with other values. Defaults to one for each row. */
  users?: number
  columns: readonly Column[]
  /** If set, one row in ten has other values than in the same file without `changed`. */
  changed?: true
  /** If set, the rows' users are not in the order in which they were registered. */
  shuffled?: true
  /**
   * Three rows in ten have an error, after the rows from which types are inferred. `left out` makes the file without
   * them.
   */
  invalid?: 'kept' | 'left out'
  gzip?: true
}

/** A file on disk, and the counts that an import of it must have. */
export interface MadeFile extends Shape {
  path: string
  bytes: number
  /** Rows in the file. */
  written: number
  /** Rows in the file that have an error or an unregistered user. */
  failing: number
}

/** A row of the wide file has about as many bytes as this many customer rows. */
const wideRowIsWorth = 21

/** Returns the files of the import benchmark: `rows` rows of customers, and variants of about the same size. */
export function shapesOf(rows: number) {
  const first: Shape = { name: 'first', rows, columns: customer }
  return {
    first,
    changed: { ...first, name: 'changed', changed: true },
    wide: { name: 'wide', rows: Math.ceil(rows / wideRowIsWorth), columns: wide },
    narrow: { name: 'narrow', rows, columns: narrow },
    invalid: { ...first, name: 'invalid', invalid: 'kept' },
    valid: { ...first, name: 'valid', invalid: 'left out' },
    gzip: { ...first, name: 'gzip', gzip: true },
    shuffled: { ...first, name: 'shuffled', shuffled: true },
  } as const satisfies Record<string, Shape>
}

/** Returns the users to register before any file is imported: all but one in a hundred. */
export function* registeredUsers(rows: number): Generator<string> {
  for (let user = 0; user < rows; user++) if (isRegistered(user)) yield userId(user)
}

/** Returns the user of a row, or of the next row with a registered user. */
export function registeredUserFrom(row: number, rows: number): string {
  let user = row
  while (!isRegistered(user)) user = (user + 1) % rows
  return userId(user)
}

export async function makeFile(folder: string, shape: Shape): Promise<MadeFile> {
  const path = join(folder, `${shape.name}.csv${shape.gzip ? '.gz' : ''}`)
  const counts = { written: 0, failing: 0 }
  const compress: Transform[] = shape.gzip ? [createGzip()] : []
  await pipeline([Readable.from(chunksOf(shape, counts)), ...compress, createWriteStream(path)])
  return { ...shape, path, bytes: (await stat(path)).size, ...counts }
}

const chunkLength = 2 ** 18
const inferenceRows = 1000

function* chunksOf(shape: Shape, counts: { written: number; failing: number }): Generator<Buffer> {
  let chunk = `user_id,${shape.columns.map(({ name }) => name).join(',')}\n`
  const users = shape.shuffled ? shuffledNumbers(shape.rows) : undefined
  for (let row = 0; row < shape.rows; row++) {
    const user = users?.[row] ?? row % (shape.users ?? shape.rows)
    const hasError = shape.invalid !== undefined && row >= inferenceRows && mixed(user, 2) % 10 < 3
    if (hasError && shape.invalid === 'left out') continue
    const cells = cellsOf(shape.users === undefined ? user : row, shape)
    if (hasError) spoil(cells, user)
    counts.written++
    if (hasError || !isRegistered(user)) counts.failing++
    chunk += `${userId(user)},${cells.join(',')}\n`
    if (chunk.length < chunkLength) continue
    yield Buffer.from(chunk)
    chunk = ''
  }
  yield Buffer.from(chunk)
}

function cellsOf(user: number, { columns, changed }: Shape): string[] {
  const random = seeded(mixed(user, 3))
  const cells = columns.map((column) => column.cell(random))
  if (!changed || mixed(user, 4) % 10 !== 0) return cells
  const again = seeded(mixed(user, 5))
  return cells.map((cell, index) => (columns[index]?.changes ? columns[index].cell(again) : cell))
}

/** Adds one of three errors to a customer's row: a value of another type, an impossible date, or a value too many. */
function spoil(cells: string[], user: number): void {
  const kind = mixed(user, 6) % 3
  if (kind === 0) cells[3] = 'unknown'
  else if (kind === 1) cells[7] = '2021-02-30'
  else cells.push('one too many')
}

function isRegistered(user: number): boolean {
  return mixed(user, 1) % 100 !== 0
}

function userId(user: number): string {
  return `customer-${String(user).padStart(7, '0')}`
}

function shuffledNumbers(count: number): Uint32Array {
  const numbers = Uint32Array.from({ length: count }, (_, index) => index)
  const random = seeded(7)
  for (let last = count - 1; last > 0; last--) {
    const other = random(last + 1)
    const held = numbers[last] ?? 0
    numbers[last] = numbers[other] ?? 0
    numbers[other] = held
  }
  return numbers
}

/** Returns a generator of pseudorandom numbers (mulberry32). */
function seeded(seed: number): Random {
  let state = seed
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0
    return scrambled(state) % below
  }
}

/** Returns a pseudorandom number that depends on a user and a purpose. */
function mixed(user: number, purpose: number): number {
  return scrambled((Math.imul(user, 0x9e3779b1) + Math.imul(purpose, 0x85ebca6b)) >>> 0)
}

function scrambled(state: number): number {
  let value = Math.imul(state ^ (state >>> 15), state | 1)
  value ^= value + Math.imul(value ^ (value >>> 7), value | 61)
  return (value ^ (value >>> 14)) >>> 0
}
