import { pick, type Random, seeded } from '../environment/random.ts'

export interface LargeFileCounts {
  rows: number
  /** Rows with an error: the user is not registered, or a value does not have its column's type. */
  invalid: number
}

/** Returns the user IDs that must be registered for a file. */
export function* userIds(users: number): Generator<string> {
  for (let user = 0; user < users; user++) yield userId(user)
}

/**
 * Generates a CSV file with nine attributes and about 110 bytes per row. The same numbers produce the same bytes. The
 * users of {@link userIds} occur repeatedly, with other values and with empty values, so that the order of rows
 * matters. One row in a hundred has an unregistered user. One row in two hundred has an invalid value, after the rows
 * that types are inferred from.
 */
export function largeFileInMemory({ rows, users }: { rows: number; users: number }): {
  file: Buffer
  counts: LargeFileCounts
} {
  const random = seeded(20_260_101)
  const made = Array.from({ length: rows }, (_, index) => row(random, index, users))
  const header = 'user_id,name,city,plan,age,visits,score,balance,joined,last_seen\n'
  return {
    file: Buffer.from(header + made.map(({ text }) => text).join('')),
    counts: { rows, invalid: made.filter(({ isInvalid }) => isInvalid).length },
  }
}

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
