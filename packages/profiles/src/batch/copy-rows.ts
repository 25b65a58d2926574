import type { JsonWriter } from '../values/json-writer.ts'
import type { ElementList } from './element-list.ts'

/** The columns of the rows that {@link writeCopyRows} writes. */
export const copyColumns = ['app_id', 'user_id', 'row_hash', 'attributes'] as const

/** A value's length, 4 bytes. */
const four = [0, 0, 0, 4]
const nullValue = Buffer.from([0xff, 0xff, 0xff, 0xff])

/** `jsonb` comes with the version of its format before it: the first is JSON text. */
const jsonVersion = 1

/** The lists of a batch: IDs and hashes by user, documents by their numbers. */
interface BatchLists {
  id: ElementList
  hash: ElementList
  document: ElementList
}

/**
 * Writes first profiles as rows for `copyInto`.
 *
 * Takes a writer, which is emptied before, the lists, the users by their numbers, and by user the number of the document. A hash
 * with all bits 0 is none. Gives the writer's bytes.
 */
export function writeCopyRows(
  writer: JsonWriter,
  appId: number,
  { id, hash, document }: BatchLists,
  users: readonly number[],
  documentOf: readonly number[],
): Buffer {
  const start = Buffer.from([0, copyColumns.length, ...four, 0, 0, 0, 0])
  start.writeInt32BE(appId, start.length - 4)
  writer.length = 0
  for (const user of users) {
    writer.write(start)
    id.writeTo(writer, user)
    if (isZero(hash, user)) writer.write(nullValue)
    else hash.writeTo(writer, user)
    writeDocument(writer, document, documentOf[user] ?? 0)
  }
  return writer.bytes.subarray(0, writer.length)
}

function isZero(list: ElementList, element: number): boolean {
  const { bytes } = list.writer
  const end = list.endOf(element)
  for (let at = list.startOf(element); at < end; at++) if (bytes[at] !== 0) return false
  return true
}

function writeDocument(writer: JsonWriter, documents: ElementList, document: number): void {
  const [start, end] = [documents.startOf(document), documents.endOf(document)]
  writer.writeInt32(end - start + 1)
  writer.writeByte(jsonVersion)
  writer.write(documents.writer.bytes, start, end)
}
