import { gzipSync } from 'node:zlib'
import { pick, type Random } from '../../environment/random.ts'
import type { Table } from '../../imports/model.ts'

export interface GeneratedFile {
  table: Table
  bytes: Buffer
  contentType: 'text/csv' | 'application/gzip'
  /** Why the whole file must be refused. Undefined if the file must be applied. */
  refusal: string | undefined
  /** The file is only checked, and nothing is applied. */
  dryRun?: true
  /** The import takes back what the import of this file, the last one before it, has changed. */
  isUndo?: true
}

export const generatedUsers = Array.from({ length: 60 }, (_, user) => `user-${user}`)

/** Generators of cells by column name. `late` has no values in the rows that types are inferred from. */
const columns: Record<string, (random: Random, row: number) => string> = {
  plan: (random) => pick(['free', 'basic', 'pro', '', '"quoted", and more', 'two\nlines', 'ünï😀'], random),
  age: (random) => pick(['31', '42', '-7', '', String(random(1000))], random),
  score: (random) => pick(['1.5', '22.25', '', `${random(100)}.${random(10)}`], random),
  joined: (random) => pick(['2026-01-02', '2026-01-02T03:04:05+09:00', ''], random),
  late: (random, row) => (row < 150 ? '' : String(random(50))),
}

/** Generates file `number` of an app. One file in fifteen must be refused. */
export function generateFile(random: Random, number: number, rows: number): GeneratedFile {
  return random(15) === 0 ? refusedFile(random) : generateSoundFile(random, number, rows)
}

/**
 * Generates a file that must be applied. Every row has the file's number, so that no two imports leave equal profiles.
 */
export function generateSoundFile(random: Random, number: number, rows: number): GeneratedFile {
  const names = Object.keys(columns).filter(() => random(3) > 0)
  const header = ['mark', ...names].toSpliced(random(names.length + 1), 0, 'user_id')
  const table = {
    header,
    rows: Array.from({ length: rows }, (_, row) => generateRow(random, header, number, row)),
  }
  const csv = write(table)
  return random(4) === 0
    ? { table, bytes: gzipSync(csv), contentType: 'application/gzip', refusal: undefined }
    : { table, bytes: csv, contentType: 'text/csv', refusal: undefined }
}

/** Generates a row. One row in twelve has an error. */
function generateRow(random: Random, header: readonly string[], number: number, row: number): Buffer[] {
  const wrong = random(12) === 0 ? pick(['user', 'value', 'length', 'bytes'] as const, random) : undefined
  const cells = header.map((name) => {
    if (name === 'user_id') return Buffer.from(wrong === 'user' ? `nobody-${row}` : pick(generatedUsers, random))
    if (name === 'mark') return wrong === 'bytes' ? Buffer.from([0x61, 0xff]) : Buffer.from(`${number}:${row}`)
    if (wrong === 'value') return Buffer.from('neither, nor')
    return Buffer.from(columns[name]?.(random, row) ?? '')
  })
  return wrong === 'length' ? [...cells, Buffer.from('one more')] : cells
}

function refusedFile(random: Random): GeneratedFile {
  const [header, refusal] = pick(
    [
      [['mark', 'age'], 'user_id column is required'],
      [['user_id', 'age', 'age'], 'duplicate columns age'],
      [['user_id', '$city'], 'standard user profile cannot be updated: $city'],
    ] as const,
    random,
  )
  const table = { header: [...header], rows: [header.map(() => Buffer.from('1'))] }
  return { table, bytes: write(table), contentType: 'text/csv', refusal }
}

/** Writes CSV without any code of the service. Uses quotes only if they are required, as error files do. */
export function write({ header, rows }: Table): Buffer {
  return Buffer.concat([header.map((name) => Buffer.from(name)), ...rows].map(toLine))
}

function toLine(cells: readonly Buffer[]): Buffer {
  const texts = cells.map((cell) => {
    const text = cell.toString('latin1')
    return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text
  })
  return Buffer.from(`${texts.join(',')}\n`, 'latin1')
}
