import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'

/** Keys of AES-256, 32 bytes each. The first encrypts, all decrypt. docs/settings.md says how to rotate them. */
export type EncryptionKeys = readonly Buffer[]

const cipher = 'aes-256-gcm'
/** Length of the name of a key, with which each encrypted text begins. */
export const keyNameBytes = 8
const nonceBytes = 12
const tagBytes = 16

/** None of the keys encrypted a text, or the text was altered. */
export class CannotDecrypt extends Error {
  override readonly name = 'CannotDecrypt'

  constructor(what: string) {
    super(`${what} cannot be decrypted with any of ENCRYPTION_KEYS`)
  }
}

/**
 * Encrypts a text with the first key (design.md §4, Isolation). `owner` names the text's owner: the text cannot be
 * decrypted for another owner.
 *
 * Returns the concatenation of the key's name (the beginning of its SHA-256), the nonce, the ciphertext and the tag.
 */
export function encrypt(keys: EncryptionKeys, owner: string, text: string): Buffer {
  const [key] = keys
  if (key === undefined) throw new Error('there is no key to encrypt with')
  const nonce = randomBytes(nonceBytes)
  const encryption = createCipheriv(cipher, key, nonce, { authTagLength: tagBytes }).setAAD(Buffer.from(owner))
  const sealed = Buffer.concat([encryption.update(text, 'utf8'), encryption.final()])
  return Buffer.concat([nameOf(key), nonce, sealed, encryption.getAuthTag()])
}

/** Decrypts the result of {@link encrypt}. Throws {@link CannotDecrypt}. */
export function decrypt(keys: EncryptionKeys, owner: string, encrypted: Buffer): string {
  const key = keys.find((candidate) => nameOf(candidate).equals(encrypted.subarray(0, keyNameBytes)))
  if (key === undefined || encrypted.length < keyNameBytes + nonceBytes + tagBytes) throw new CannotDecrypt(owner)
  const nonce = encrypted.subarray(keyNameBytes, keyNameBytes + nonceBytes)
  const sealed = encrypted.subarray(keyNameBytes + nonceBytes, -tagBytes)
  const decryption = createDecipheriv(cipher, key, nonce, { authTagLength: tagBytes })
    .setAAD(Buffer.from(owner))
    .setAuthTag(encrypted.subarray(-tagBytes))
  try {
    return Buffer.concat([decryption.update(sealed), decryption.final()]).toString('utf8')
  } catch {
    throw new CannotDecrypt(owner)
  }
}

/** Whether a text was encrypted with the first key, and thus needs no other key. */
export function isCurrent(keys: EncryptionKeys, encrypted: Buffer): boolean {
  return keys[0] !== undefined && nameOf(keys[0]).equals(encrypted.subarray(0, keyNameBytes))
}

/** Returns the name of a key: the beginning of its SHA-256. */
export function nameOf(key: Buffer): Buffer {
  return createHash('sha256').update(key).digest().subarray(0, keyNameBytes)
}
