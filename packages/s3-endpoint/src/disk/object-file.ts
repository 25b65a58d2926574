/**
 * An object is one file, so that its bytes and what is known of them change in one step:
 *
 *     bytes of the object | record as JSON | length of the record (4 bytes, big-endian) | magic (8 bytes)
 *
 * The record stands at the end because size and ETag are known only after the last byte.
 */

import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import type { Checksums, ChecksumType, ObjectInfo, ObjectMetadata } from '../backend.ts'
import type { Hasher } from '../body/hasher.ts'
import { systemErrorCode } from '../errors.ts'

/** What a file says of its object. `modifiedAt` is in milliseconds since 1970. */
export type ObjectRecord = {
  key: string
  etag: string
  modifiedAt: number
  metadata: ObjectMetadata
  checksums: Checksums
  /** Of the whole object if it is missing, as in files of earlier versions. */
  checksumType?: ChecksumType
  /** The multipart upload that made the object. */
  uploadId?: string
}

/** An open file, its record, and the size of the object in it. */
export type OpenObjectFile = { handle: FileHandle; record: ObjectRecord; size: number }

const magicBytes = Buffer.from('SLUICEo1')
const footerBytes = 4 + magicBytes.length
/** Most records fit, so that one read is enough. */
const tailBytes = 2048
/** Read ahead in pieces of this size, so that a download costs few system calls and little memory. */
const readAheadBytes = 256 * 1024

/**
 * Writes an object file anew at `path` and brings it to the disk. `makeRecord` is called after the last chunk.
 *
 * Where anything fails, the error is passed on and the file is left for the caller to remove.
 */
export async function writeObjectFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  makeRecord: () => ObjectRecord,
): Promise<{ record: ObjectRecord; size: number }> {
  const handle = await open(path, 'wx', 0o600)
  try {
    let size = 0
    for await (const chunk of chunks) {
      await handle.appendFile(chunk)
      size += chunk.length
    }
    const record = makeRecord()
    const json = Buffer.from(JSON.stringify(record))
    const length = Buffer.alloc(4)
    length.writeUInt32BE(json.length)
    await handle.appendFile(Buffer.concat([json, length, magicBytes]))
    await handle.sync()
    return { record, size }
  } finally {
    await handle.close()
  }
}

/** Opens an object file; the caller closes the handle. Undefined: there is none. Throws where the file is damaged. */
export async function openObjectFile(path: string): Promise<OpenObjectFile | undefined> {
  const handle = await openIfThere(path)
  if (handle === undefined) return undefined
  try {
    return { handle, ...(await readRecord(handle, path)) }
  } catch (error) {
    await handle.close()
    throw error
  }
}

/** Reads what an object file says of its object. Undefined: there is none. */
export async function readObjectFile(path: string): Promise<Omit<OpenObjectFile, 'handle'> | undefined> {
  const file = await openObjectFile(path)
  await file?.handle.close()
  return file
}

/** S3 shows times in whole seconds, and conditions compare them so. */
export function wholeSecond(): number {
  return Math.floor(Date.now() / 1000) * 1000
}

/**
 * Reads a part of an open file's object; both ends are counted from 0 and included. The handle stays open.
 */
export function readBytes({ handle }: OpenObjectFile, { start, end }: { start: number; end: number }): Readable {
  if (end < start) return Readable.from([])
  return handle.createReadStream({ start, end, autoClose: false, highWaterMark: readAheadBytes })
}

/** Reads all of an open file's object, and passes its bytes through a hasher if there is one. The handle stays open. */
export async function* readHashed(file: OpenObjectFile, hasher: Hasher | undefined): AsyncGenerator<Uint8Array> {
  for await (const chunk of readBytes(file, { start: 0, end: file.size - 1 })) {
    hasher?.update(chunk)
    yield chunk
  }
}

/** Gives an object's description as a backend hands it out. */
export function infoOf({ record, size }: { record: ObjectRecord; size: number }): ObjectInfo {
  const { key, etag, modifiedAt, metadata, checksums, checksumType = 'FULL_OBJECT' } = record
  return { key, size, etag, modifiedAt: new Date(modifiedAt), metadata, checksums, checksumType }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

async function readRecord(handle: FileHandle, path: string): Promise<{ record: ObjectRecord; size: number }> {
  const { size: fileSize } = await handle.stat()
  let tail = await readTail(handle, fileSize, tailBytes)
  const footer = tail.subarray(-footerBytes)
  if (footer.length < footerBytes || !footer.subarray(4).equals(magicBytes)) throw damaged(path)
  const trailerBytes = footer.readUInt32BE(0) + footerBytes
  if (trailerBytes > fileSize) throw damaged(path)
  if (trailerBytes > tail.length) tail = await readTail(handle, fileSize, trailerBytes)
  const record: unknown = JSON.parse(tail.toString('utf8', tail.length - trailerBytes, tail.length - footerBytes))
  if (!isObjectRecord(record)) throw damaged(path)
  return { record, size: fileSize - trailerBytes }
}

async function readTail(handle: FileHandle, fileSize: number, bytes: number): Promise<Buffer> {
  const length = Math.min(fileSize, bytes)
  const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, fileSize - length)
  return buffer.subarray(0, bytesRead)
}

/** Tells records from other JSON; what is inside them was written by this file. */
function isObjectRecord(value: unknown): value is ObjectRecord {
  if (typeof value !== 'object' || value === null) return false
  return 'key' in value && 'etag' in value && 'modifiedAt' in value && 'metadata' in value && 'checksums' in value
}

function damaged(path: string): Error {
  return new Error(`the object file ${path} is damaged`)
}
