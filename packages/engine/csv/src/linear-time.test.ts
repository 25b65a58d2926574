import { once as onceEmitted } from 'node:events'
import { Worker } from 'node:worker_threads'
import { afterAll, describe, expect, test } from 'vitest'
import type { StepsRequest } from './testing/count-steps.ts'

// Time is measured in steps, not in seconds: how often blocks of this package run, and how many bytes native code reads
// for them. Production code counts nothing.
const counter = new Worker(new URL('testing/count-steps.ts', import.meta.url))
afterAll(() => counter.terminate())

async function countSteps(request: StepsRequest): Promise<number> {
  const answer = onceEmitted(counter, 'message')
  counter.postMessage(request)
  const [steps] = await answer
  return steps
}

const bytes = 2 ** 16

// With the first limit, a record may be as long as the document, and could be scanned again for each of its lines. With
// the second limit, records are much shorter.
describe.each([4 * bytes, 2 ** 12])(
  'twice as many bytes take twice as many steps, with records up to %i bytes',
  (max) => {
    test.each([
      ['short lines', 'u1,2\n'],
      ['lines that close a quote and open the next', 'a","\n'],
      ['the same, until a line breaks the quoting', `${'a","\n'.repeat(500)}"x\n`],
      ['lines that only open a quote', '"x\n'],
      ['quotes that break on a later line', '"a\nb"c\n'],
      ['values that span many lines', `"${'x\n'.repeat(10_000)}"\n`],
      ['a quote that never closes', `"${'x\n'.repeat(bytes)}`],
      ['long records', `${'x'.repeat(10_000)}\n`],
      ['one record without end', 'x'],
      ['blank lines', '\r\n'],
    ])('%s', async (_, text) => {
      const once = await countSteps({ text, bytes, maxRecordBytes: max })
      const twice = await countSteps({ text, bytes: 2 * bytes, maxRecordBytes: max })
      expect(once).toBeGreaterThan(bytes / 2)
      expect(twice / once).toBeLessThan(2.2)
      // A byte that changes the state runs about 30 blocks.
      expect(twice / (2 * bytes)).toBeLessThan(50)
    })
  },
)
