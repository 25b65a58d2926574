import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { base64Of, checksumAlgorithms, createChecksum, isChecksum } from './checksums.ts'

describe('checksums', () => {
  // Of the text 123456789: the check values of the CRC catalogue, and the digests that sha1sum and sha256sum print.
  test.each([
    ['crc32', 'cbf43926'],
    ['crc32c', 'e3069283'],
    ['crc64nvme', 'ae8b14860a799888'],
    ['sha1', 'f7c3bc1d808e04732adf679965ccc34ca7ae3441'],
    ['sha256', '15e2b0d3c33891ebb0f1ef609ec419420c20e320ce94c65fbc8c3312448eb225'],
  ] as const)('%s of "123456789" is the published value', async (algorithm, expected) => {
    const hasher = createChecksum(algorithm)
    hasher.update(Buffer.from('123456789'))
    expect(await base64Of(hasher)).toBe(Buffer.from(expected, 'hex').toString('base64'))
  })

  test('do not depend on how the bytes are split into chunks', async () => {
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...checksumAlgorithms), fc.array(fc.uint8Array()), async (algorithm, chunks) => {
        const inPieces = createChecksum(algorithm)
        for (const chunk of chunks) inPieces.update(chunk)
        const atOnce = createChecksum(algorithm)
        atOnce.update(Buffer.concat(chunks))
        expect(await base64Of(inPieces)).toBe(await base64Of(atOnce))
      }),
    )
  })

  test('are accepted only with the right length and in canonical base64', () => {
    expect(isChecksum('crc32', 'AAAAAA==')).toBe(true)
    expect(isChecksum('crc64nvme', 'AAAAAA==')).toBe(false)
    expect(isChecksum('crc32', 'AAAAAB==')).toBe(false)
    expect(isChecksum('crc32', 'AAAAAA')).toBe(false)
    expect(isChecksum('crc32', '')).toBe(false)
  })
})
