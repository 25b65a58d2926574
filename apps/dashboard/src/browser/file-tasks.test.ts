import { gunzipSync, gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { type Plan, unchangedColumn } from './conversion/plan.ts'
import { readStart } from './file-start.ts'
import { convertFile, findOtherText, NotConverted } from './file-tasks.ts'

const plan: Plan = {
  encoding: 'windows-1252',
  dialect: { separator: ';', lineBreak: '\n' },
  prefixLength: 0,
  columns: ['user_id', 'name'].map(unchangedColumn),
  clearMarker: '',
}
const source = Buffer.from('user_id;name\nu1;Müller\n', 'latin1')
const converted = 'user_id,name\nu1,Müller\n'
const limitBytes = 2 ** 20
const blobOf = (bytes: Uint8Array<ArrayBuffer>) => new Blob([bytes])
const ignore = () => {}

describe('a file is converted', () => {
  test('and its progress is reported up to its size', async () => {
    const reports: number[] = []
    const blob = await convertFile({ file: blobOf(source), kind: 'text' }, plan, limitBytes, (read) =>
      reports.push(read),
    )
    expect(await blob.text()).toBe(converted)
    expect(reports.at(-1)).toBe(source.length)
  })

  test('and stays compressed if it was', async () => {
    const blob = await convertFile({ file: blobOf(gzipSync(source)), kind: 'gzip' }, plan, limitBytes, ignore)
    expect(gunzipSync(await blob.arrayBuffer()).toString()).toBe(converted)
  })

  test('also if it has several gzip members, each with its checksum', async () => {
    const members = Buffer.concat(
      [source.subarray(0, 5), source.subarray(5, 20), source.subarray(20)].map((part) => gzipSync(part)),
    )
    const blob = await convertFile({ file: blobOf(members), kind: 'gzip' }, plan, limitBytes, ignore)
    expect(gunzipSync(await blob.arrayBuffer()).toString()).toBe(converted)
    const damaged = Buffer.from(members)
    damaged.writeUInt8(damaged.readUInt8(damaged.length - 8) ^ 1, damaged.length - 8)
    const converting = convertFile({ file: blobOf(damaged), kind: 'gzip' }, plan, limitBytes, ignore)
    await expect(converting).rejects.toThrow('cannot unpack the file to its end')
  })

  test('in parts, whatever its size', async () => {
    const rows = 200_000
    const large = Buffer.concat([source, Buffer.alloc(rows * 12, 'user-1;abcd\n')])
    const blob = await convertFile({ file: blobOf(large), kind: 'text' }, plan, 2 ** 22, ignore)
    expect(blob.size).toBe(Buffer.byteLength(converted) + rows * 12)
  })
})

test.each([
  ['exceeds the limit', source, 'text', 'Converted, the file is over the limit', 10],
  ['is of another encoding', source, 'text', 'has bytes that are not UTF-8. Choose another encoding', limitBytes],
  ['is damaged', gzipSync(source).subarray(0, 20), 'gzip', 'cannot unpack the file to its end', limitBytes],
] as const)('a file that %s is refused in words', async (_, bytes, kind, problem, limit) => {
  const given = problem.includes('UTF-8') ? { ...plan, encoding: 'utf-8' as const } : plan
  const converting = convertFile({ file: blobOf(Uint8Array.from(bytes)), kind }, given, limit, ignore)
  await expect(converting).rejects.toThrow(NotConverted)
  await expect(converting).rejects.toThrow(problem)
})

describe('the check of a whole file', () => {
  const check = (bytes: Uint8Array, kind: 'text' | 'gzip') =>
    findOtherText({ file: blobOf(Uint8Array.from(bytes)), kind }, ignore)

  test('finds bytes that are not UTF-8, also in a compressed file', async () => {
    for (const found of [await check(source, 'text'), await check(gzipSync(source), 'gzip')]) {
      expect(Buffer.from(found?.lines ?? []).toString('latin1')).toBe('u1;Müller\n')
    }
    expect(await check(Buffer.from(converted), 'text')).toBeUndefined()
  })

  test('reads every member of a gzip file', async () => {
    const members = Buffer.concat([gzipSync('user_id,name\n'), gzipSync(source)])
    expect(Buffer.from((await check(members, 'gzip'))?.lines ?? []).toString('latin1')).toBe('u1;Müller\n')
    const { bytes, isWhole } = await readStart(blobOf(members))
    expect([Buffer.from(bytes).toString('latin1'), isWhole]).toEqual(['user_id,name\nuser_id;name\nu1;Müller\n', true])
  })

  test('fails for a damaged compressed file', async () => {
    await expect(check(gzipSync(Buffer.from(converted)).subarray(0, 20), 'gzip')).rejects.toThrow()
  })
})
