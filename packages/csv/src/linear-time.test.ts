import { afterAll, describe, expect, test, vi } from 'vitest'

// Time is measured in steps, not in seconds. Each byte that the framer scans or copies is a step. Production code
// counts nothing.
let steps = 0

vi.mock('./scan.ts', async (load) => {
  const scan = await load<typeof import('./scan.ts')>()
  return {
    ...scan,
    scanRecord(...[data, record, end]: Parameters<typeof scan.scanRecord>) {
      const from = record.at
      scan.scanRecord(data, record, end)
      steps += 1 + record.at - from
    },
  }
})

vi.mock('./find-byte.ts', () => ({
  findByte: (data: Buffer, byte: number, from: number) => data.indexOf(byte, from),
}))

const { indexOf } = Buffer.prototype
vi.spyOn(Buffer.prototype, 'indexOf').mockImplementation(function (this: Buffer, ...args: Parameters<typeof indexOf>) {
  const found = indexOf.apply(this, args)
  const from = Number(args[1] ?? 0)
  steps += 1 + (found === -1 ? this.length : found) - from
  return found
})

const { concat } = Buffer
vi.spyOn(Buffer, 'concat').mockImplementation((parts, length) => {
  const joined = concat(parts, length)
  steps += joined.length
  return joined
})

// Test files share loaded modules: the modules are loaded anew for these mocks, and once more for the next file.
vi.resetModules()
const { RecordFramer } = await import('./records.ts')
afterAll(() => {
  vi.restoreAllMocks()
  vi.resetModules()
})

const chunkBytes = 2 ** 11

/** Counts the steps that it takes to frame a text repeated up to this many bytes. */
function countSteps(text: string, bytes: number, maxRecordBytes: number): number {
  const document = Buffer.alloc(bytes, text)
  const framer = new RecordFramer(0, maxRecordBytes)
  steps = 0
  for (let at = 0; at < bytes; at += chunkBytes) framer.push(document.subarray(at, at + chunkBytes))
  framer.end()
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
    ])('%s', (_, text) => {
      const [once, twice] = [countSteps(text, bytes, max), countSteps(text, 2 * bytes, max)]
      expect(once).toBeGreaterThan(bytes / 2)
      expect(twice / once).toBeLessThan(2.2)
      expect(twice / (2 * bytes)).toBeLessThan(8)
    })
  },
)
