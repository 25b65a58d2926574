import type { ByteWriter } from '@sluice/profiles'
import type { ElementList } from './element-list.ts'

/** The columns of the rows that {@link writeCopyRows} writes. */
export const copyColumns = ['app_id', 'user_id', 'row_hash', 'attributes'] as const

/** The length 4, as the 4 bytes that precede a value. */
const lengthOf4 = [0, 0, 0, 4]
const nullValue = Buffer.from([0xff, 0xff, 0xff, 0xff])

/** The lists of a batch: IDs and hashes by user, documents by their numbers. */
interface BatchLists {
  id: ElementList
  hash: ElementList
  document: ElementList
  /** By user, the number of its document. */
  documentOf: readonly number[]
}

/**
 * Writes first profiles as rows for `copyInto`.
 *
 * Replaces the writer's content. `users` has the numbers of the users to write. A hash with all bits 0 is written as
 * null. Returns the writer's bytes.
 */
export function writeCopyRows(
  writer: ByteWriter,
  appId: number,
  { id, hash, document, documentOf }: BatchLists,
  users: readonly number[],
): Buffer {
  const start = Buffer.from([0, copyColumns.length, ...lengthOf4, 0, 0, 0, 0])
  start.writeInt32BE(appId, start.length - 4)
  writer.length = 0
  for (const user of users) {
    writer.write(start)
    id.writeTo(writer, user)
    if (isZero(hash, user)) writer.write(nullValue)
    else hash.writeTo(writer, user)
    document.writeTo(writer, documentOfUser(documentOf, user))
  }
  return writer.bytes.subarray(0, writer.length)
}

/**
 * Returns the number of a user's document. Throws if the user has none, because the bytes of another document would be
 * written otherwise.
 */
export function documentOfUser(documents: readonly number[], user: number): number {
  const document = documents[user] ?? -1
  if (document === -1) throw new Error(`user ${user} has no document`)
  return document
}

function isZero(list: ElementList, element: number): boolean {
  const { bytes } = list.writer
  const end = list.endOf(element)
  for (let at = list.startOf(element); at < end; at++) if (bytes[at] !== 0) return false
  return true
}
