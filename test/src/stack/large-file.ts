import { pick, type Random, seeded } from '../environment/random.ts'

/** What {@link largeFile} makes. */
export interface LargeFileOptions {
  /** The file ends before the first row that would be one too many. */
  rows?: number
  /** The file ends before the first row that would take it over this size. */
  bytes?: number
  /** Rows are about {@link userIds} of this many users. */
  users: number
}

/** What a made file holds: what an import of it must count. */
export interface LargeFileCounts {
  rows: number
  /** Rows with an error: their user is not registered, or a value is not of its column's type. */
  invalid: number
}

/** The IDs that have to be registered for a file. */
export function* userIds(users: number): Generator<string> {
  for (let user = 0; user < users; user++) yield userId(user)
}

/**
 * Makes a CSV file of customers with nine attributes, about 110 bytes a row, in chunks of some 256 KiB. The same options
 * give the same bytes. Users come up again and again, with other values and with empty ones, so that the order of rows
 * counts. One row in a hundred is about a user who is not registered, and one in two hundred has a wrong value, behind
 * the rows from which types are inferred.
 */
export function* largeFile(options: LargeFileOptions): Generator<Buffer, LargeFileCounts> {
  const random = seeded(20_260_101)
  const counts: LargeFileCounts = { rows: 0, invalid: 0 }
  let chunk = 'user_id,name,city,plan,age,visits,score,balance,joined,last_seen\n'
  let size = Buffer.byteLength(chunk)
  while (counts.rows < (options.rows ?? Number.POSITIVE_INFINITY)) {
    const { text, isInvalid } = row(random, counts.rows, options.users)
    size += Buffer.byteLength(text)
    if (size > (options.bytes ?? Number.POSITIVE_INFINITY)) break
    counts.rows++
    if (isInvalid) counts.invalid++
    chunk += text
    if (chunk.length >= chunkLength) {
      yield Buffer.from(chunk)
      chunk = ''
    }
  }
  yield Buffer.from(chunk)
  return counts
}

/** The whole file at once. */
export function largeFileInMemory(options: LargeFileOptions): { file: Buffer; counts: LargeFileCounts } {
  const chunks: Buffer[] = []
  const making = largeFile(options)
  for (;;) {
    const next = making.next()
    if (next.done === true) return { file: Buffer.concat(chunks), counts: next.value }
    chunks.push(next.value)
  }
}

const chunkLength = 2 ** 18
const inferenceRows = 1000
const names = ['Ana', 'Bo', 'Chloé', 'Dōgen', 'Eve', 'Fatma', 'Gül', 'Hanna']
const surnames = ['Almeida', 'Brandt', 'Castro', 'Dvořák', '"van ""Rijn"', 'O’Neill', 'Sato', 'Öztürk']
const cities = ['Lisboa', 'Zürich', '"Paris, 11e"', '東京', 'Oslo', '"New\nYork"', 'Kraków', 'Lima']
const plans = ['free', 'basic', 'pro', 'team']

function row(random: Random, index: number, users: number): { text: string; isInvalid: boolean } {
  const isUnregistered = random(100) === 0
  const hasWrongValue = index >= inferenceRows && random(200) === 0
  const user = random(users)
  const surname = pick(surnames, random)
  const cells = [
    isUnregistered ? `nobody-${user}` : userId(user),
    surname.startsWith('"') ? surname.replace('"', `"${pick(names, random)} `) : `${pick(names, random)} ${surname}`,
    random(10) === 0 ? '' : pick(cities, random),
    random(10) === 0 ? '' : pick(plans, random),
    hasWrongValue ? 'unknown' : String(18 + random(70)),
    random(10) === 0 ? '' : String(random(100_000)),
    `${random(100)}.${random(10)}`,
    `${random(10_000)}.${10 + random(90)}`,
    `20${10 + random(16)}-0${1 + random(9)}-${10 + random(18)}`,
    `2026-01-${10 + random(20)}T${10 + random(14)}:${10 + random(50)}:00+09:00`,
  ]
  return { text: `${cells.join(',')}\n`, isInvalid: isUnregistered || hasWrongValue }
}

function userId(user: number): string {
  return `customer-${String(user).padStart(7, '0')}`
}
