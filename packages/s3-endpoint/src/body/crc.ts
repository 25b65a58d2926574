/** The two CRCs of S3 that Node's zlib lacks. Both are bit-reflected and computed with a table. */

import type { Hasher } from './hasher.ts'

/** Reflected polynomials: CRC-32C (Castagnoli), and CRC-64/NVME in halves of 32 bits. */
const crc32cPolynomial = 0x82f63b78
const crc64NvmePolynomial = { high: 0x9a6c9329, low: 0xac4bc9b5 }

const crc32cTable = makeTable(0, crc32cPolynomial).low
const crc64Table = makeTable(crc64NvmePolynomial.high, crc64NvmePolynomial.low)

/** Creates a hasher for CRC-32C. */
export function createCrc32c(): Hasher {
  let value = 0xffffffff
  return {
    update: (chunk) => {
      for (const byte of chunk) value = (value >>> 8) ^ at(crc32cTable, (value ^ byte) & 0xff)
    },
    digest: () => {
      const bytes = Buffer.alloc(4)
      bytes.writeUInt32BE(~value >>> 0)
      return bytes
    },
  }
}

/**
 * Creates a hasher for CRC-64/NVME. The value is kept in two halves, because BigInt arithmetic is about fifty times
 * slower.
 */
export function createCrc64Nvme(): Hasher {
  let high = 0xffffffff
  let low = 0xffffffff
  return {
    update: (chunk) => {
      for (const byte of chunk) {
        const index = (low ^ byte) & 0xff
        low = ((low >>> 8) | (high << 24)) ^ at(crc64Table.low, index)
        high = (high >>> 8) ^ at(crc64Table.high, index)
      }
    },
    digest: () => {
      const bytes = Buffer.alloc(8)
      bytes.writeUInt32BE(~high >>> 0, 0)
      bytes.writeUInt32BE(~low >>> 0, 4)
      return bytes
    },
  }
}

function makeTable(polynomialHigh: number, polynomialLow: number): { high: Int32Array; low: Int32Array } {
  const table = { high: new Int32Array(256), low: new Int32Array(256) }
  for (let byte = 0; byte < 256; byte += 1) {
    let high = 0
    let low = byte
    for (let bit = 0; bit < 8; bit += 1) {
      const carry = low & 1
      low = (low >>> 1) | (high << 31)
      high >>>= 1
      if (carry === 1) {
        low ^= polynomialLow
        high ^= polynomialHigh
      }
    }
    table.high[byte] = high
    table.low[byte] = low
  }
  return table
}

/** The index is always below 256. The fallback only satisfies the compiler. */
function at(table: Int32Array, index: number): number {
  return table[index] ?? 0
}
