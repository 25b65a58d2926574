import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { ChecksumPlan } from '../backend.ts'
import { checkDeclaredObject, readDeclaredObject, readPlan } from './object-checksum.ts'

const planOf = (headers: Record<string, string>) => readPlan(new Map(Object.entries(headers)))
const sha256 = (data: string | Buffer) => createHash('sha256').update(data).digest()
const part = { checksums: { sha256: sha256('part').toString('base64') } }
const composite = sha256(sha256('part')).toString('base64')
const ofBytes = sha256('part').toString('base64')

test.each([
  ['CRC32', undefined, 'COMPOSITE'],
  ['CRC32', 'FULL_OBJECT', 'FULL_OBJECT'],
  ['CRC32C', undefined, 'COMPOSITE'],
  ['CRC64NVME', undefined, 'FULL_OBJECT'],
  ['SHA1', undefined, 'COMPOSITE'],
  ['SHA256', 'COMPOSITE', 'COMPOSITE'],
])('an upload that begins with %s and the type %s has checksums of the type %s', (algorithm, asked, type) => {
  const headers = { 'x-amz-checksum-algorithm': algorithm, ...(asked && { 'x-amz-checksum-type': asked }) }
  expect(planOf(headers)).toEqual({ algorithm: algorithm.toLowerCase(), type })
})

test.each([
  [{ 'x-amz-checksum-algorithm': 'SHA512' }, 'NotImplemented'],
  [{ 'x-amz-checksum-algorithm': 'CRC' }, 'NotImplemented'],
  [{ 'x-amz-checksum-type': 'COMPOSITE' }, 'InvalidRequest'],
  [{ 'x-amz-checksum-algorithm': 'CRC32', 'x-amz-checksum-type': 'PART' }, 'InvalidRequest'],
  [{ 'x-amz-checksum-algorithm': 'SHA256', 'x-amz-checksum-type': 'FULL_OBJECT' }, 'InvalidRequest'],
  [{ 'x-amz-checksum-algorithm': 'CRC64NVME', 'x-amz-checksum-type': 'COMPOSITE' }, 'InvalidRequest'],
])('an upload does not begin with %o', (headers, code) => {
  expect(() => planOf(headers as Record<string, string>)).toThrow(expect.objectContaining({ code }))
})

/** Checks what headers state about an object of one part of 4 bytes. */
const check = async (headers: Record<string, string>, plan?: ChecksumPlan) =>
  await checkDeclaredObject(plan, readDeclaredObject(new Map(Object.entries(headers))), [part], 4)

describe('at the end of an upload that began with SHA256', () => {
  const plan: ChecksumPlan = { algorithm: 'sha256', type: 'COMPOSITE' }

  test.each([
    {},
    { 'x-amz-checksum-sha256': composite },
    { 'x-amz-checksum-sha256': `${composite}-1`, 'x-amz-checksum-type': 'COMPOSITE', 'x-amz-mp-object-size': '4' },
  ])('%o is accepted', async (headers) => {
    await check(headers, plan)
  })

  test.each([
    [{ 'x-amz-checksum-sha256': ofBytes }, 'BadDigest'],
    [{ 'x-amz-checksum-sha256': `${composite}-2` }, 'BadDigest'],
    [{ 'x-amz-checksum-type': 'FULL_OBJECT' }, 'BadDigest'],
    [{ 'x-amz-checksum-crc32': 'AAAAAA==' }, 'BadDigest'],
    [{ 'x-amz-checksum-type': 'PART' }, 'InvalidRequest'],
    [{ 'x-amz-checksum-sha256': 'x' }, 'InvalidRequest'],
    [{ 'x-amz-checksum-sha256': `${composite}-1-1` }, 'InvalidRequest'],
    [{ 'x-amz-checksum-sha256': composite, 'x-amz-checksum-crc32': 'AAAAAA==' }, 'InvalidRequest'],
    [{ 'x-amz-mp-object-size': '5' }, 'InvalidRequest'],
    [{ 'x-amz-mp-object-size': 'x' }, 'InvalidRequest'],
  ])('%o is refused', async (headers, code) => {
    await expect(check(headers as Record<string, string>, plan)).rejects.toMatchObject({ code })
  })
})

test('a checksum that the upload did not begin with is compared, or refused if the parts do not suffice', async () => {
  await check({ 'x-amz-checksum-sha256': composite })
  await expect(check({ 'x-amz-checksum-sha256': ofBytes })).rejects.toMatchObject({ code: 'BadDigest' })
  for (const headers of [
    { 'x-amz-checksum-crc32': 'AAAAAA==' },
    { 'x-amz-checksum-crc32': 'AAAAAA==', 'x-amz-checksum-type': 'FULL_OBJECT' },
    { 'x-amz-checksum-crc64nvme': 'AAAAAAAAAAA=' },
  ]) {
    await expect(check(headers as Record<string, string>)).rejects.toMatchObject({ code: 'NotImplemented' })
  }
})
