import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hstoreOid, valuesIn } from './pairs.fixture.ts'
import { pairKey } from './pairs.ts'
import { ProfileBatch } from './profile-batch.ts'

const key = pairKey('n')

/** The steps of a batch, each with a user or a value that fits. */
const steps = {
  addRow: (batch: ProfileBatch) => batch.addRow(Buffer.from('u1'), 0, 2),
  beginRow: (batch: ProfileBatch) => batch.beginRow(Buffer.from('1x'), true),
  addValue: (batch: ProfileBatch) => batch.addValue(key, 0, 1, 'int'),
  addWrongValue: (batch: ProfileBatch) => batch.addValue(key, 1, 2, 'int'),
  addRemoval: (batch: ProfileBatch) => batch.addRemoval(key),
  keepRow: (batch: ProfileBatch) => batch.keepRow(0, 0),
  dropRow: (batch: ProfileBatch) => batch.dropRow(),
  read: (batch: ProfileBatch) => batch.documentArray(batch.hasDocument(0) ? [0] : []),
  clearValues: (batch: ProfileBatch) => batch.clearValues(),
} satisfies Record<string, (batch: ProfileBatch) => unknown>

/** Returns the document of the batch's only user. */
function documentOf(batch: ProfileBatch): Record<string, string | null> {
  const headerBytes = 24 // of the array and of its only element
  return valuesIn(batch.documentArray([0]).subarray(headerBytes))
}

type Step = keyof typeof steps

/** A batch with one user, after these steps. */
function after(...taken: Step[]): ProfileBatch {
  const batch = new ProfileBatch(hstoreOid)
  for (const step of ['addRow', ...taken] as const) steps[step](batch)
  return batch
}

test.each<[string, Step[], Step]>([
  ['a value outside a row', [], 'addValue'],
  ['a removal outside a row', [], 'addRemoval'],
  ['a removal after reading', ['beginRow', 'addValue', 'keepRow', 'read'], 'addRemoval'],
  ['the end of a row that has not begun', [], 'keepRow'],
  ['dropping a row that has not begun', [], 'dropRow'],
  ['a row within a row', ['beginRow'], 'beginRow'],
  ['a user within a row', ['beginRow'], 'addRow'],
  ['reading within a row', ['beginRow', 'addValue'], 'read'],
  ['a user after values', ['beginRow', 'addValue', 'keepRow'], 'addRow'],
  ['a row that is kept with a value that cannot be stored', ['beginRow', 'addWrongValue', 'addValue'], 'keepRow'],
  ['a row after reading', ['beginRow', 'addValue', 'keepRow', 'read'], 'beginRow'],
])('%s is refused', (_, taken, step) => {
  const batch = after(...taken)
  expect(() => steps[step](batch)).toThrow('out of order')
})

test('a removed key has no value in the document, and a later row of the user may set it again', () => {
  const batch = after('addRow', 'beginRow', 'addRemoval', 'keepRow', 'beginRow', 'addValue', 'keepRow')
  expect(batch.removedKeys).toEqual(['n'])
  expect(documentOf(batch)).toEqual({ n: '1' })
  batch.clearValues()
  expect(batch.hasRemovals).toBe(false)
})

// design.md §4, Order.
test('of several rows of a user, the last one that has a key decides its value', () => {
  const anyRow = fc.dictionary(
    fc.constantFrom('', 'n', 'é', 'long key'),
    fc.option(fc.string({ unit: 'grapheme-ascii' })),
  )
  const keys = new Map(['', 'n', 'é', 'long key'].map((key) => [key, pairKey(key)]))
  fc.assert(
    fc.property(fc.array(anyRow, { minLength: 1, maxLength: 5 }), (rows) => {
      const batch = new ProfileBatch(hstoreOid)
      const users = rows.map(() => batch.addRow(Buffer.from('u1'), 0, 2))
      for (const [index, row] of rows.entries()) {
        const values = Object.entries(row)
        const source = Buffer.from(values.map(([, value]) => value ?? '').join(''))
        batch.beginRow(source, true)
        let start = 0
        for (const [key, value] of values) {
          const pair = keys.get(key) ?? Buffer.alloc(0)
          const end = start + (value ?? '').length
          if (value === null) batch.addRemoval(pair)
          else batch.addValue(pair, start, end, 'string')
          start = end
        }
        batch.keepRow(users[index] ?? 0, index)
      }
      const expected: Record<string, string | null> = Object.assign({}, ...rows)
      expect(batch.hasDocument(0)).toBe(Object.keys(expected).length > 0)
      if (!batch.hasDocument(0)) return
      expect(documentOf(batch)).toEqual(expected)
      // Of two pairs with one key, Postgres keeps any.
      expect(batch.documentArray([0]).readInt32BE(24)).toBe(Object.keys(expected).length)
    }),
  )
})

test('a row of a user that the batch does not have is refused', () => {
  const batch = after('beginRow', 'addValue')
  expect(() => batch.keepRow(1, 0)).toThrow('user 1 is not in the batch')
  expect(() => batch.keepRow(-1, 0)).toThrow('user -1 is not in the batch')
})

test('the document of a user that has none cannot be read', () => {
  const batch = after('beginRow', 'dropRow')
  expect(() => batch.documentArray([0])).toThrow('user 0 has no document')
  expect(() => batch.copyRows(1, [0])).toThrow('user 0 has no document')
})

test('after its values are cleared, a batch accepts users and rows again', () => {
  const batch = after('beginRow', 'addValue', 'keepRow', 'read', 'clearValues')
  expect(batch.hasDocument(0)).toBe(false)
  for (const step of ['addRow', 'beginRow', 'addValue', 'keepRow'] as const) steps[step](batch)
  expect(batch.hasDocument(0)).toBe(true)
})

test('steps in any order either throw or leave a document', () => {
  const anySteps = fc.array(fc.constantFrom(...(Object.keys(steps) as Step[])), { maxLength: 40 })
  fc.assert(
    fc.property(anySteps, (taken) => {
      const batch = after()
      for (const step of taken) {
        try {
          steps[step](batch)
        } catch (error) {
          expect(String(error)).toContain('out of order')
        }
      }
      try {
        batch.dropRow()
      } catch {} // no row is open
      if (!batch.hasDocument(0)) return
      expect([{ n: '1' }, { n: null }]).toContainEqual(documentOf(batch))
    }),
  )
})
