import { createWriteStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { Readable, type Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import type { ValueType } from '@sluice/contract'
import { pick, type Random, scrambled, seeded } from '../../../environment/random.ts'

export interface Column {
  name: string
  type: ValueType
  /** Whether a changed row of the file `changed` has another value in this column than in the file `first`. */
  changes: boolean
  /** Makes a cell, quoted if necessary. */
  cell(random: Random): string
}

const given = ['Ana', 'Benedikt', 'Chloé', 'Dōgen', 'Eve', 'Fatma', 'Gül', 'Hannah']
const family = ['Almeida', 'Brandt', 'Castro', 'Dvořák', 'van Rijn', 'O’Neill', 'Sato', 'Öztürk']
const cities = ['Lisboa', 'Zürich', '"Paris, 11e"', '東京', 'Oslo', '"Washington, D.C."', 'Kraków', 'Lima']
const plans = ['free', 'basic', 'professional', 'team']

const twoDigits = (value: number) => String(value).padStart(2, '0')
const date = (random: Random) => `20${10 + random(16)}-${twoDigits(1 + random(12))}-${twoDigits(1 + random(28))}`
const time = (random: Random) => `${twoDigits(random(24))}:${twoDigits(random(60))}:${twoDigits(random(60))}`

/** Nine attributes of a customer in all four types; with the user's ID about 110 bytes a row. */
const customer: readonly Column[] = [
  { name: 'name', type: 'string', changes: false, cell: (r) => `${pick(given, r)} ${pick(family, r)}` },
  { name: 'city', type: 'string', changes: false, cell: (r) => pick(cities, r) },
  { name: 'plan', type: 'string', changes: false, cell: (r) => pick(plans, r) },
  { name: 'age', type: 'int', changes: false, cell: (r) => String(18 + r(70)) },
  { name: 'visits', type: 'int', changes: true, cell: (r) => String(r(100_000)) },
  { name: 'score', type: 'decimal', changes: false, cell: (r) => `${r(100)}.${r(1000)}` },
  { name: 'balance', type: 'decimal', changes: true, cell: (r) => `${r(100_000)}.${twoDigits(r(100))}` },
  { name: 'joined', type: 'datetime', changes: false, cell: date },
  { name: 'last_seen', type: 'datetime', changes: true, cell: (r) => `${date(r)}T${time(r)}+09:00` },
]

const narrow: readonly Column[] = customer.filter(({ name }) => name === 'visits')

const wide: readonly Column[] = Array.from({ length: 200 }, (_, index): Column => {
  const kinds: Omit<Column, 'name'>[] = [
    { type: 'string', changes: false, cell: (r) => pick(family, r) },
    { type: 'int', changes: false, cell: (r) => String(r(100_000)) },
    { type: 'decimal', changes: false, cell: (r) => `${r(1000)}.${r(1000)}` },
    { type: 'datetime', changes: false, cell: (r) => `${date(r)}T${time(r)}Z` },
  ]
  const kind = kinds[index % kinds.length] ?? kinds[0]
  if (kind === undefined) throw new Error('there are no kinds of columns')
  return { name: `attribute_${index + 1}`, ...kind }
})

/** The shape of a benchmark's file. Equal shapes produce equal bytes. */
export interface Shape {
  /** Names the file. */
  name: string
  rows: number
  /** Number of users in the rows, who then recur with other values. Defaults to one for each row. */
  users?: number
  columns: readonly Column[]
  /**
   * Which values differ from those of the same file without it: some values of one row in ten or in a hundred, or
   * nearly all.
   */
  changed?: 'a tenth' | 'a hundredth' | 'all'
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
    changed: { ...first, name: 'changed', changed: 'a tenth' },
    replaced: { ...first, name: 'replaced', rows: Math.ceil(rows / customer.length), changed: 'all' },
    wide: { name: 'wide', rows: Math.ceil(rows / wideRowIsWorth), columns: wide },
    narrow: { name: 'narrow', rows, columns: narrow },
    invalid: { ...first, name: 'invalid', invalid: 'kept' },
    valid: { ...first, name: 'valid', invalid: 'left out' },
    gzip: { ...first, name: 'gzip', gzip: true },
    shuffled: { ...first, name: 'shuffled', shuffled: true },
    daily: { ...first, name: 'daily', shuffled: true, changed: 'a hundredth' },
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
  const again = seeded(mixed(user, 5))
  if (changed === 'all') return columns.map((column) => column.cell(again))
  if (!changed || mixed(user, 4) % (changed === 'a tenth' ? 10 : 100) !== 0) return cells
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

export function shuffledNumbers(count: number): Uint32Array {
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

/** Returns a pseudorandom number that depends on a user and a purpose. */
function mixed(user: number, purpose: number): number {
  return scrambled((Math.imul(user, 0x9e3779b1) + Math.imul(purpose, 0x85ebca6b)) >>> 0)
}
