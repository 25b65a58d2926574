import type { ValueType } from '@sluice/contract'

/** Returns whole numbers from 0 to `below` − 1. */
export type Random = (below: number) => number

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

const pick = (texts: readonly string[], random: Random) => texts[random(texts.length)] ?? ''
const twoDigits = (value: number) => String(value).padStart(2, '0')
const date = (random: Random) => `20${10 + random(16)}-${twoDigits(1 + random(12))}-${twoDigits(1 + random(28))}`
const time = (random: Random) => `${twoDigits(random(24))}:${twoDigits(random(60))}:${twoDigits(random(60))}`

/** Nine attributes of a customer in all four types; with the user's ID about 110 bytes a row. */
export const customer: readonly Column[] = [
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

export const narrow: readonly Column[] = customer.filter(({ name }) => name === 'visits')

export const wide: readonly Column[] = Array.from({ length: 200 }, (_, index): Column => {
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
