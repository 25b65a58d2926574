import { createHash } from 'node:crypto'

const objectSuffix = '.object'
/** File systems take names of 255 bytes; a longer encoded key is cut and told apart by its hash. */
const maxEncodedLength = 200
const keptPrefixLength = 120

/**
 * Gives the file name under which an object is kept, one to one with its key and always a single path segment.
 *
 * All but `a-z 0-9 . _ -` is escaped as `%xx`: so no key can leave its directory, and keys that differ in case or in
 * Unicode form stay apart on file systems that don't tell these apart. The suffix keeps `.` and `..` harmless.
 */
export function fileNameOf(key: string): string {
  const encoded = Array.from(Buffer.from(key), encodeByte).join('')
  if (encoded.length <= maxEncodedLength) return encoded + objectSuffix
  // The tilde is always escaped above, so that no short key's name can look like this.
  return `${encoded.slice(0, keptPrefixLength)}~${createHash('sha256').update(key).digest('hex')}${objectSuffix}`
}

/**
 * Gives the key of a file name; 'in-file' where the name is that of a long key, which only the file itself tells, and
 * undefined where the file is no object.
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
