import { randomBytes } from 'node:crypto'
import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { CannotDecrypt, decrypt, encrypt, isCurrent } from './encryption.ts'

const [old, current, other] = [randomBytes(32), randomBytes(32), randomBytes(32)]

// design.md §4, Isolation.
test('any text decrypts to itself, and never encrypts to the same bytes twice', async () => {
  await fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (owner, text) => {
      const encrypted = encrypt([current], owner, text)
      expect(decrypt([current], owner, encrypted)).toBe(text)
      expect(encrypt([current], owner, text).equals(encrypted)).toBe(false)
    }),
  )
})

test('after a rotation the old key still decrypts until it is removed', () => {
  const encrypted = encrypt([old], 'owner', 'secret')
  expect(isCurrent([current, old], encrypted)).toBe(false)
  expect(decrypt([current, old], 'owner', encrypted)).toBe('secret')
  const again = encrypt([current, old], 'owner', 'secret')
  expect(isCurrent([current, old], again)).toBe(true)
  expect(decrypt([current], 'owner', again)).toBe('secret')
  expect(() => decrypt([current], 'owner', encrypted)).toThrow(CannotDecrypt)
})

test('in each step of a rotation, processes before and after their restart decrypt what the others encrypt', () => {
  const steps = [[old], [old, current], [current, old]]
  for (const [index, keys] of steps.entries()) {
    for (const others of steps.slice(Math.max(0, index - 1), index + 2)) {
      expect(decrypt(others, 'owner', encrypt(keys, 'owner', 'secret'))).toBe('secret')
    }
  }
})

test('a text does not decrypt with another key, for another owner, altered or truncated, and no message contains the secret', () => {
  const encrypted = encrypt([current], 'owner', 'secret')
  expect(() => decrypt([other], 'owner', encrypted)).toThrow('owner cannot be decrypted')
  expect(() => decrypt([current], 'somebody', encrypted)).toThrow(CannotDecrypt)
  for (let index = 0; index < encrypted.length; index += 1) {
    const altered = Buffer.from(encrypted)
    altered.writeUInt8(altered.readUInt8(index) ^ 1, index)
    expect(() => decrypt([current], 'owner', altered)).toThrow(CannotDecrypt)
    expect(() => decrypt([current], 'owner', encrypted.subarray(0, index))).toThrow(CannotDecrypt)
  }
})
