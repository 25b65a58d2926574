import { valueTypes } from '@sluice/contract'
import fc from 'fast-check'
import { describe, expect, test, vi } from 'vitest'
import { ByteWriter } from './byte-writer.ts'
import { encodeCell } from './cell.ts'

/** Writes a cell that is a part of a larger buffer. */
function written(cell: Buffer, type: (typeof valueTypes)[number], isText: boolean): unknown {
  const source = Buffer.concat([Buffer.from('"9-'), cell, Buffer.from('9.Z')])
  const writer = new ByteWriter(1)
  writer.write(Buffer.from('['))
  const problem = writer.writeCell(source, 3, 3 + cell.length, type, isText)
  writer.writeByte(0x5d)
  const text = writer.bytes.toString('utf8', 0, writer.length)
  return problem === undefined ? text : [problem, text]
}

function expected(cell: Buffer, type: (typeof valueTypes)[number]): unknown {
  const stored = encodeCell(cell, type)
  return typeof stored === 'string' ? `[${stored}]` : [stored, '[]']
}

const digits = (maxLength: number) =>
  fc.oneof(
    fc.constantFrom('', '0', '00', '000000', '0000001'),
    fc.string({ unit: fc.constantFrom(...'0012345678999'), maxLength }),
  )
const number = fc
  .tuple(fc.constantFrom('', '-', '+'), digits(17), fc.constantFrom('', '.'), digits(8), fc.constantFrom('', '', 'e3'))
  .map((parts) => parts.join(''))
const two = fc.integer({ min: 0, max: 62 }).map((value) => String(value).padStart(2, '0'))
const datetime = fc
  .tuple(
    fc.constantFrom('0000', '1999', '2024', '9999', '20x4'),
    fc.constantFrom('-', '/'),
    fc.integer({ min: 0, max: 13 }).map((month) => String(month).padStart(2, '0')),
    fc.integer({ min: 0, max: 32 }).map((day) => String(day).padStart(2, '0')),
    fc.constantFrom('T', ' ', ''),
    fc.tuple(two, two, two).map((parts) => parts.join(':')),
    fc.constantFrom('', '.5', '.123', '.1234', ',123', '.12x'),
    fc.constantFrom('', 'Z', '+09:00', '-00:30', '+23:59', '-14:00', '+24:00', '+01', '-0130', '+1x:00'),
  )
  .map(([year, dash, month, day, t, time, fraction, zone]) => {
    const date = `${year}${dash}${month}-${day}`
    return t === '' ? date : `${date}${t}${time}${fraction}${zone}`
  })
const text = fc.string({ unit: fc.constantFrom(...'ab "\\\n\t\u0001éß😀'), maxLength: 300 })

/** Cells in forms that are copied byte by byte. */
const usual = [
  ['string', 'plain, with {signs}~'],
  ['string', 'x'.repeat(255)],
  ['int', '0'],
  ['int', '42'],
  ['int', '-123456789012345'],
  ['decimal', '42'],
  ['decimal', '-12.50'],
  ['decimal', '12.00'],
  ['decimal', '0.5'],
  ['decimal', '0.00001'],
  ['decimal', '12345678901.234'],
  ['datetime', '2024-01-30'],
  ['datetime', '2024-02-28T23:59:59'],
  ['datetime', '2024-12-01T00:00:00.123'],
  ['datetime', '2024-12-01T00:00:00.5Z'],
  ['datetime', '2024-12-05T00:00:00.123456+01:00'],
  ['datetime', '2024-01-05T23:59:59.999Z'],
  ['datetime', '2024-01-05T10:11:12+23:59'],
  ['datetime', '2024-01-05T10:11:12.123-14:00'],
] as const

describe('the stored text of a cell', () => {
  test.each([
    ['string', 'plain', '[plain]'],
    ['string', 'a "b" \\ c', '[a "b" \\ c]'],
    ['string', 'Zoë 😀', '[Zoë 😀]'],
    ['string', '日'.repeat(255), `[${'日'.repeat(255)}]`],
    ['int', '42', '[42]'],
    ['int', '-42', '[-42]'],
    ['int', '+007', '[7]'],
    ['int', '-0', '[0]'],
    ['decimal', '12.50', '[12.5]'],
    ['decimal', '12.00', '[12]'],
    ['decimal', '-0.0', '[0]'],
    ['decimal', '.5', '[0.5]'],
    ['decimal', '0.00000012', '[0.00000012]'],
    ['datetime', '2024-02-29', '[2024-02-29 00:00:00.000]'],
    ['datetime', '2024-01-05T10:11:12Z', '[2024-01-05 10:11:12.000]'],
    ['datetime', '2024-01-05T10:11:12.5+01:00', '[2024-01-05 09:11:12.500]'],
    ['datetime', '2024-01-05T02:11:12+09:00', '[2024-01-04 17:11:12.000]'],
    ['datetime', '2024-03-01T02:11:12+09:00', '[2024-02-29 17:11:12.000]'],
  ] as const)('%s %s is %s', (type, cell, stored) => {
    expect(written(Buffer.from(cell), type, true)).toBe(stored)
  })

  // The speed of an import depends on it.
  test.each(usual)('of type %s is copied without a string if it is like %s', (type, cell) => {
    const source = Buffer.from('9'.repeat(300) + cell)
    // A conversion reads a part of the source as a string.
    const part = vi.spyOn(source, 'subarray')
    for (const isText of [true, false]) {
      expect(new ByteWriter(1).writeCell(source, 300, source.length, type, isText)).toBeUndefined()
    }
    expect(part).not.toHaveBeenCalled()
  })

  test.each(usual)('of type %s is the same if it differs in one place from %s', (type, cell) => {
    const signs = ['', ...'/0123456:9-+.,TZ "\\\n\0é']
    for (let at = 0; at <= cell.length; at++) {
      for (const sign of signs) {
        for (const rest of [cell.slice(at), cell.slice(at + 1)]) {
          const changed = Buffer.from(cell.slice(0, at) + sign + rest)
          if (changed.length === 0) continue
          expect(written(changed, type, false), String(changed)).toEqual(expected(changed, type))
        }
      }
    }
  })

  test('is the same, whether its bytes are copied or converted to a string', () => {
    const cell = fc
      .oneof(
        fc.oneof(number, datetime, text, fc.string({ maxLength: 20 })).map((value) => Buffer.from(value)),
        fc.uint8Array({ maxLength: 12 }).map((bytes) => Buffer.from(bytes)),
      )
      .filter((bytes) => bytes.length > 0)
    fc.assert(
      fc.property(cell, fc.constantFrom(...valueTypes), (bytes, type) => {
        expect(written(bytes, type, false)).toEqual(expected(bytes, type))
      }),
      { numRuns: 20_000 },
    )
  })

  test('is the same if its bytes are known to be text', () => {
    fc.assert(
      fc.property(
        fc.oneof(number, datetime, text).filter((value) => value !== ''),
        fc.constantFrom(...valueTypes),
        (value, type) => {
          const cell = Buffer.from(value)
          expect(written(cell, type, true)).toEqual(expected(cell, type))
        },
      ),
      { numRuns: 10_000 },
    )
  })
})

test('what is written is read back, whatever the size of the buffer', () => {
  for (const initialSize of [0, 1, 64, 1_000]) {
    const writer = new ByteWriter(initialSize)
    const parts = [0, 1, 64, 65, 200].map((bytes) => Buffer.alloc(bytes, 'x'))
    for (const part of parts) {
      writer.write(part)
      writer.writeByte(7)
      writer.writeInt32(-2)
    }
    const expected = parts.flatMap((part) => [part, Buffer.from([7, 0xff, 0xff, 0xff, 0xfe])])
    expect(writer.bytes.subarray(0, writer.length)).toEqual(Buffer.concat(expected))
  }
})

test('a part of the source is written as it is', () => {
  const source = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))
  for (const [start, end] of [
    [1, 64],
    [1, 65],
    [1, 66],
    [200, 256],
  ] as const) {
    const writer = new ByteWriter(1)
    writer.write(source, start, end)
    expect(writer.bytes.subarray(0, writer.length)).toEqual(source.subarray(start, end))
  }
})
