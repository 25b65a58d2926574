import { afterAll, describe, expect, test } from 'vitest'
import { RecordReader } from './record-reader.ts'

// Time is measured in steps, not in seconds: the characters that the reader searches or cuts out. Production code
// counts nothing. packages/csv tests the import's reader in the same way.
let steps = 0

const { indexOf, slice } = String.prototype
// Not a spy of Vitest, which would keep millions of calls.
Object.assign(String.prototype, {
  indexOf(this: string, ...args: Parameters<typeof indexOf>) {
    const found = indexOf.apply(this, args)
    steps += 1 + (found === -1 ? this.length : found) - (args[1] ?? 0)
    return found
  },
  slice(this: string, ...args: Parameters<typeof slice>) {
    const part = slice.apply(this, args)
    steps += 1 + part.length
    return part
  },
})
afterAll(() => void Object.assign(String.prototype, { indexOf, slice }))

const chunkLength = 2 ** 11

/** Reads a text of `length` characters that repeats `line`. Returns the number of steps. */
function countSteps(line: string, length: number, maxLength: number): number {
  const text = line.repeat(Math.ceil(length / line.length)).substring(0, length)
  const reader = new RecordReader({ separator: ';', lineBreak: '\n' }, maxLength)
  let records = 0
  steps = 0
  for (let at = 0; at < length; at += chunkLength) {
    for (const _ of reader.push(text.substring(at, at + chunkLength))) records++
  }
  for (const _ of reader.end()) records++
  expect(records).toBeGreaterThan(0)
  return steps
}

const length = 2 ** 16

// The first limit allows a record as long as the file, which a naive reader would read again for each of its lines. The
// second limit ends records much earlier.
describe.each([4 * length, 2 ** 12])(
  'twice as many characters take twice as many steps, with records up to %i characters',
  (max) => {
    test.each([
      ['short lines', 'u1;2\n'],
      ['lines that close a quote and open the next', 'a";"\n'],
      ['the same, until a line breaks the quoting', `${'a";"\n'.repeat(500)}"x\n`],
      ['lines that only open a quote', '"x\n'],
      ['quotes that break on a later line', '"a\nb"c\n'],
      ['values that span many lines', `"${'x\n'.repeat(10_000)}"\n`],
      ['a quote that never closes', `"${'x\n'.repeat(length)}`],
      ['plain values with quotes, and no separator', '5" disk\n'],
      ['long records', `${'x'.repeat(10_000)}\n`],
    ])('%s', (_, line) => {
      const [once, twice] = [countSteps(line, length, max), countSteps(line, 2 * length, max)]
      expect(once).toBeGreaterThan(length / 2)
      expect(twice / once).toBeLessThan(2.3)
      expect(twice / (2 * length)).toBeLessThan(16)
    })
  },
)
