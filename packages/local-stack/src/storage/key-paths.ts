import { createHash } from 'node:crypto'

const objectSuffix = '.object'
/** File systems accept names of 255 bytes. The name of a longer encoded key is its beginning and a hash of the key. */
const maxEncodedLength = 200
const keptPrefixLength = 120

/**
 * Returns the name of an object's file. It is unique for the key and always a single path segment.
 *
 * All bytes but `a-z 0-9 . _ -` are escaped as `%xx`. Therefore no key can leave its directory. Keys that differ in
 * case or Unicode form have different names even on file systems that ignore such differences. The suffix makes `.` and
 * `..` harmless.
 */
export function fileNameOf(key: string): string {
  const encoded = Array.from(Buffer.from(key), encodeByte).join('')
  if (encoded.length <= maxEncodedLength) return encoded + objectSuffix
  // The tilde is always escaped above, so no name of a short key can look like this.
  return `${encoded.slice(0, keptPrefixLength)}~${createHash('sha256').update(key).digest('hex')}${objectSuffix}`
}

/**
 * Returns the key of a file name, or undefined if the file is not an object.
 *
 * Returns 'in-file' for the name of a long key, because only the record in the file has the whole key.
 */
export function keyOf(fileName: string): { key: string } | 'in-file' | undefined {
  if (!fileName.endsWith(objectSuffix)) return undefined
  const encoded = fileName.slice(0, -objectSuffix.length)
  if (encoded.includes('~')) return 'in-file'
  const bytes = encoded.replace(/%(..)/g, (_escape, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
  return { key: Buffer.from(bytes, 'latin1').toString('utf8') }
}

function encodeByte(byte: number): string {
  const character = String.fromCharCode(byte)
  return /[a-z0-9._-]/.test(character) ? character : `%${byte.toString(16).padStart(2, '0')}`
}
