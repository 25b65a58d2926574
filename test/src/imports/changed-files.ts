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
