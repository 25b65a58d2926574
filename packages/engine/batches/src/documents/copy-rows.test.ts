import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hstoreOid, valuesIn } from './pairs.fixture.ts'
import { pairKey } from './pairs.ts'
import { ProfileBatch } from './profile-batch.ts'

/** Reads rows in the binary format of `copy`, by its description in the documentation of Postgres. */
function valuesOf(rows: Buffer): (Buffer | null)[][] {
  const read: (Buffer | null)[][] = []
  for (let at = 0; at < rows.length; ) {
    const columns = rows.readInt16BE(at)
    at += 2
    const row = Array.from({ length: columns }, () => {
      const length = rows.readInt32BE(at)
      at += 4
      if (length === -1) return null
      at += length
      return rows.subarray(at - length, at)
    })
    read.push(row)
  }
  return read
}

/** A row: its user, its hash, and the value of its one key. */
const anyRows = fc.array(
  fc.record({
    user: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 40 }).filter((id) => !id.includes('\0')),
    hash: fc.string({ unit: fc.constantFrom('a', 'z', 'é', '0'), minLength: 16, maxLength: 16 }),
    value: fc.integer({ min: 0, max: 1e9 }),
  }),
  { maxLength: 50 },
)

test('the rows have app, ID, hash and document of the chosen users, and no hash if a user has several rows', () => {
  const batch = new ProfileBatch(hstoreOid)
  fc.assert(
    fc.property(anyRows, fc.integer({ min: 1, max: 2 ** 31 - 1 }), fc.func(fc.boolean()), (rows, appId, isChosen) => {
      batch.clear()
      const numbers = rows.map(({ user, hash }) => {
        const id = Buffer.from(user)
        const number = batch.addRow(id, 0, id.length)
        batch.addHash(number, Buffer.from(hash, 'latin1'), 0)
        return number
      })
      for (const [index, { value }] of rows.entries()) {
        const cell = Buffer.from(String(value))
        batch.beginRow(cell, true)
        batch.addValue(pairKey('n'), 0, cell.length, 'int')
        batch.keepRow(numbers[index] ?? 0, index)
      }
      const chosen = [...new Set(numbers)].filter((user) => isChosen(user))
      const expected = chosen.map((user) => {
        const own = rows.filter((_, index) => numbers[index] === user)
        return {
          appId,
          user: own[0]?.user,
          hash: own.length === 1 ? own[0]?.hash : undefined,
          values: { n: String(own.at(-1)?.value) },
        }
      })
      const read = valuesOf(batch.copyRows(appId, chosen)).map(([app, user, hash, document]) => {
        return {
          appId: app?.readInt32BE(),
          user: user?.toString(),
          hash: hash?.toString('latin1'),
          values: document === null || document === undefined ? undefined : valuesIn(document),
        }
      })
      // The rows come in about the order of the IDs (key-order.test.ts).
      expect(byUser(read)).toEqual(byUser(expected))
    }),
  )
})

function byUser<Row extends { user: string | undefined }>(rows: readonly Row[]): Row[] {
  return rows.toSorted(({ user: one = '' }, { user: other = '' }) => (one < other ? -1 : 1))
}
