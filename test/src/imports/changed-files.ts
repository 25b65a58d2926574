import assert from 'node:assert/strict'
import { cellsOf, readRows } from '@sluice/csv'
import fc from 'fast-check'

// Files of any values for a few users, for properties of what imports change.

export const users = ['u1', 'u2', 'u3', 'u4', 'u,5', 'ü"6']
const types = { name: 'string', n: 'int', 'a,b': 'decimal', at: 'datetime' } as const
export const keys = Object.keys(types)

/** Values of each key: absent ones, clear markers, wrong ones, and some in several spellings. */
const cells = [
  fc.constantFrom('', 'x', 'y "z"', 'a,b', 'tab\t', '\\', '#', 'é'),
  fc.constantFrom('', '1', '+1', '-7', '#', 'wrong'),
  fc.constantFrom('', '1.5', '1.50', '2', '2.0', '0.0000001', '123456789012345678901234.5', '#'),
  fc.constantFrom('', '2024-03-31T02:30:00Z', '2024-03-31T04:30:00+02:00', '2025-01-01T00:00:00Z', '#'),
]
const rowOf = (userId: fc.Arbitrary<string>) => fc.tuple(userId, ...cells)
export const someRows = fc.array(rowOf(fc.constantFrom(...users, 'nobody')), { maxLength: 14 })
export const rowsOfEachUser = fc
  .shuffledSubarray(users)
  .chain((ids) => fc.tuple(...ids.map((id) => rowOf(fc.constant(id)))))

const quoted = (cell: string) => `"${cell.replaceAll('"', '""')}"`
export const fileOf = (rows: readonly string[][]) =>
  `${[['user_id', ...keys], ...rows].map((row) => row.map((cell) => (cell === '' ? '' : quoted(cell))).join(',')).join('\n')}\n`
export const options = { profileTypes: types, clearMarker: '#', keepChanges: true }

type Profiles = Record<string, Record<string, unknown>>

interface Line {
  userId: string
  key: string
  before: unknown
  after: unknown
}

/** Reads a changes file, with values as profiles have them; undefined for no value. */
export async function changesIn(changesFile = ''): Promise<Line[]> {
  const lines: Line[] = []
  const value = (text: string, type: string) => {
    if (text === '') return undefined
    if (type === 'datetime') return text.replace('T', ' ').replace('Z', '')
    return type === 'string' ? text : Number(text)
  }
  for await (const block of readRows(
    (async function* () {
      yield Buffer.from(changesFile)
    })(),
    { columns: 5 },
  ))
    for (const row of block.rowEnd.keys()) {
      const [userId = '', key = '', type = '', before = '', after = ''] = cellsOf(block, row).map(String)
      lines.push({ userId, key, before: value(before, type), after: value(after, type) })
    }
  return lines.slice(1)
}

/** Applies the lines to profiles. Each line must name the value that the preceding ones left. */
export function replay(profiles: Profiles, lines: readonly Line[]): Profiles {
  const result = structuredClone(profiles)
  for (const { userId, key, before, after } of lines) {
    result[userId] ??= {}
    assert.deepEqual([userId, key, result[userId][key]], [userId, key, before])
    assert.notEqual(after, before)
    if (after === undefined) delete result[userId][key]
    else result[userId][key] = after
  }
  return result
}

export const withValues = (profiles: Profiles) =>
  Object.fromEntries(Object.entries(profiles).filter(([, values]) => Object.keys(values).length > 0))

export function countsOf(lines: readonly Line[]) {
  const counts = { added: 0, changed: 0, removed: 0 }
  for (const { before, after } of lines)
    counts[before === undefined ? 'added' : after === undefined ? 'removed' : 'changed']++
  return counts
}
