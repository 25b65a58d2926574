import { describe, test } from 'vitest'
import { runEndpoint } from '../testing/running-endpoint.ts'
import { expectChecksum } from './multipart-checksums.fixture.ts'

// The combinations that multipart-checksums.test.ts leaves out.
describe('the checksum of an object in parts', () => {
  test.each([
    ['CRC32C', undefined, 'COMPOSITE'],
    ['SHA1', undefined, 'COMPOSITE'],
    ['CRC32', 'COMPOSITE', 'COMPOSITE'],
    ['CRC32C', 'FULL_OBJECT', 'FULL_OBJECT'],
    ['CRC64NVME', 'FULL_OBJECT', 'FULL_OBJECT'],
  ] as const)(
    '%s is made as asked for (%s), and shown at the end, by HEAD and by GET',
    async (algorithm, asked, type) => {
      await expectChecksum(await runEndpoint(), algorithm, asked, type)
    },
  )
})
