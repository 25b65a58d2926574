import { type Profiler, Session } from 'node:inspector'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { RecordFramer } from './records.ts'

// Time is measured in steps, not in seconds. V8 counts how often each block of this package's code runs. Each byte that
// `indexOf` and `concat` read in native code is a step, too.
let nativeSteps = 0
const session = new Session()

beforeAll(() => {
  const { indexOf } = Buffer.prototype
  vi.spyOn(Buffer.prototype, 'indexOf').mockImplementation(function (
    this: Buffer,
    ...args: Parameters<typeof indexOf>
  ) {
    const found = indexOf.apply(this, args)
    const from = Number(args[1] ?? 0)
    nativeSteps += (found === -1 ? this.length : found) - from
    return found
  })
  const { concat } = Buffer
  vi.spyOn(Buffer, 'concat').mockImplementation((parts, length) => {
    const joined = concat(parts, length)
    nativeSteps += joined.length
    return joined
  })
  session.connect()
  // The session is in this thread, so each answer arrives before `post` returns.
  session.post('Profiler.enable')
  session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true })
})

afterAll(() => {
  session.disconnect()
  vi.restoreAllMocks()
})

/** Returns how often blocks of this package have run since the last call. */
function takeBlocks(): number {
  let scripts: Profiler.ScriptCoverage[] = []
  session.post('Profiler.takePreciseCoverage', (failure, { result }) => {
    if (failure) throw failure
    scripts = result
  })
  const counted = scripts.filter(({ url }) => url.includes('/packages/csv/src/') && !url.endsWith('.test.ts'))
  const blocks = counted.flatMap(({ functions }) => functions).flatMap(({ ranges }) => ranges)
  return blocks.reduce((sum, { count }) => sum + count, 0)
}

const chunkBytes = 2 ** 11

/** Counts the steps that it takes to frame a text repeated up to this many bytes. */
function countSteps(text: string, bytes: number, maxRecordBytes: number): number {
  const document = Buffer.alloc(bytes, text)
  const framer = new RecordFramer(0, maxRecordBytes)
  takeBlocks()
  nativeSteps = 0
  for (let at = 0; at < bytes; at += chunkBytes) framer.push(document.subarray(at, at + chunkBytes))
  framer.end()
  return nativeSteps + takeBlocks()
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
    ])('%s', (_, text) => {
      const [once, twice] = [countSteps(text, bytes, max), countSteps(text, 2 * bytes, max)]
      expect(once).toBeGreaterThan(bytes / 2)
      expect(twice / once).toBeLessThan(2.2)
      // A byte that changes the state runs about 30 blocks.
      expect(twice / (2 * bytes)).toBeLessThan(50)
    })
  },
)
