import { Random } from './random.ts'

/** Number of users of the sample app. */
const userCount = 12_000
/** Number of data rows of the sample file. */
const rowCount = 12_000

/** Types are inferred from the first 1,000 rows. Cells of a wrong type follow after these rows, as in real files. */
const cleanRows = 1_000

const firstNames = [
  'Amélie',
  'Björn',
  'Chloë',
  'Daisuke 大輔',
  'Émile',
  'Fatima',
  'Gün',
  'Hana 花',
  'Íñigo',
  'José',
  'Łukasz',
  'Mary',
  'Ngọc',
  'Olga Ольга',
  'Zoë',
] as const
const lastNames = [
  "O'Brien",
  'Sørensen',
  'Müller',
  'García',
  'Nguyễn',
  'Smith',
  'van der Berg',
  '山田',
  'Kowalczyk',
  'D’Angelo',
  'Öztürk',
] as const
const cities = [
  'Tokyo',
  'São Paulo',
  'Zürich',
  'Kraków',
  'New York, NY',
  'Århus',
  'Washington, D.C.',
  '大阪',
  'Reykjavík',
] as const
const plans = ['free', 'basic', 'premium'] as const
const notes = [
  'Said "call me back" twice',
  'Prefers e-mail, not phone',
  'Moved\nto a new address',
  'VIP 🎉',
  'size 5" x 7"',
] as const

const header = [
  'user_id',
  'full_name',
  'city',
  'plan',
  'age',
  'orders',
  'lifetime_value',
  'signed_up_at',
  'last_seen',
  'note',
]

/** Returns the user IDs that the sample app registers, one per line. */
export function sampleUserIds(): string {
  return Array.from({ length: userCount }, (_, i) => `${userId(i)}\n`).join('')
}

function userId(i: number): string {
  return `customer-${String(i + 1).padStart(5, '0')}`
}

/**
 * Makes the sample file (design.md §2, Demo): an export of a CRM with UTF-8 names, quoted and empty cells, and all four
 * types. About one row in a hundred has one of the documented errors.
 *
 * Returns the bytes of the file. Some rows are deliberately not UTF-8.
 */
export function sampleFile(seed: number): Buffer {
  const random = new Random(seed)
  const lines = [Buffer.from(`${header.join(',')}\r\n`)]
  for (let row = 0; row < rowCount; row++) {
    const cells = customer(random, row)
    const spoil = row >= cleanRows && random.chance(0.012) ? random.pick(mistakes) : undefined
    spoil?.(cells)
    lines.push(Buffer.from(`${cells.map(quote).join(',')}\r\n`, 'latin1'))
  }
  return Buffer.concat(lines)
}

/** Makes one row. Every cell is the latin1 string of its UTF-8 bytes, so that a mistake can contain any byte. */
function customer(random: Random, row: number): string[] {
  const orders = random.integer(0, 60)
  const signedUp = new Date(Date.UTC(2019, 0, 1) + random.integer(0, 2000) * 86_400_000)
  const lastSeen = new Date(signedUp.getTime() + random.integer(0, 40_000_000) * 1000)
  const cells = [
    userId(row),
    `${random.pick(firstNames)} ${random.pick(lastNames)}`,
    random.chance(0.1) ? '' : random.pick(cities),
    random.pick(plans),
    random.chance(0.15) ? '' : String(random.integer(18, 90)),
    String(orders),
    (orders * random.integer(500, 9000) * 0.01).toFixed(2),
    signedUp.toISOString().slice(0, 10),
    random.chance(0.05) ? '' : lastSeen.toISOString().replace('.000Z', random.pick(['Z', '+09:00', '-05:00'])),
    random.chance(0.2) ? random.pick(notes) : '',
  ]
  return cells.map((cell) => Buffer.from(cell).toString('latin1'))
}

const column = (name: string) => header.indexOf(name)

type Mistake = (cells: string[]) => void

/** The mistakes of real files, one for each error message of a row. */
const mistakes: [Mistake, ...Mistake[]] = [
  (cells) => cells.push('left over'),
  (cells) => cells.splice(0, 1, 'customer-without-account'),
  (cells) => cells.splice(column('city'), 1, 'K\xf8benhavn'), // latin1, as an old CRM writes it
  (cells) => cells.splice(column('age'), 1, 'forty-two'),
  (cells) => cells.splice(column('lifetime_value'), 1, '1.234,50 EUR'),
  (cells) => cells.splice(column('last_seen'), 1, '31/12/2025'),
  (cells) => cells.splice(column('note'), 1, 'long '.repeat(60)),
]

function quote(cell: string): string {
  return /[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell
}
