/**
 * An object is one file, so that its bytes and its record change in one step:
 *
 *     bytes of the object | record as JSON | length of the record (4 bytes, big-endian) | magic (8 bytes)
 *
 * The record is at the end, because size and ETag are known only after the last byte.
 */

import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { type ObjectInfo, type ObjectMetadata, systemErrorCode } from '@sluice/s3-endpoint'

/** The record of an object in its file. `modifiedAt` is in milliseconds since 1970. */
export interface ObjectRecord {
  key: string
  etag: string
  modifiedAt: number
  metadata: ObjectMetadata
  /** The ID of the multipart upload that made the object. */
  uploadId?: string
}

/** A file that was read: its record, and the size of the object in it. */
export interface ObjectFile {
  record: ObjectRecord
  size: number
}

export interface OpenObjectFile extends ObjectFile {
  handle: FileHandle
}

const magicBytes = Buffer.from('SLUICEo1')
const footerBytes = 4 + magicBytes.length
/** The bytes that are read first at the end of a file. Most records fit, so one read is enough. */
const tailBytes = 2048
/** The size of a read, so that a download needs few system calls and little memory. */
const readAheadBytes = 256 * 1024

/**
 * Writes a new object file at `path` and flushes it to the disk. `makeRecord` is called after the last chunk.
 *
 * If it throws, the caller must remove the file.
 */
export async function writeObjectFile(
  path: string,
  chunks: AsyncIterable<Uint8Array>,
  makeRecord: () => ObjectRecord,
): Promise<ObjectFile> {
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

/**
 * Opens an object file. The caller must close the handle.
 *
 * Returns undefined if there is no such file. Throws if the file is damaged.
 */
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

/** Reads the record of an object file. Returns undefined if there is no such file. Throws if the file is damaged. */
export async function readObjectFile(path: string): Promise<ObjectFile | undefined> {
  const file = await openObjectFile(path)
  await file?.handle.close()
  return file
}

/** Returns the current second, in milliseconds since 1970. S3 shows and compares times in whole seconds. */
export function wholeSecond(): number {
  return Math.floor(Date.now() / 1000) * 1000
}

/** Reads a range of an open file's object. Both ends are inclusive and counted from 0. The handle stays open. */
export function readBytes({ handle }: OpenObjectFile, { start, end }: { start: number; end: number }): Readable {
  if (end < start) return Readable.from([])
  return handle.createReadStream({ start, end, autoClose: false, highWaterMark: readAheadBytes })
}

/** Converts a record to the description of an object that a backend returns. */
export function infoOf({ record, size }: ObjectFile): ObjectInfo {
  const { key, etag, modifiedAt, metadata } = record
  return { key, size, etag, modifiedAt: new Date(modifiedAt), metadata }
}

async function openIfThere(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r')
  } catch (error) {
    if (systemErrorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

async function readRecord(handle: FileHandle, path: string): Promise<ObjectFile> {
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

/** Whether a value is a record. The types of its fields are not checked, because only this file writes records. */
function isObjectRecord(value: unknown): value is ObjectRecord {
  if (typeof value !== 'object' || value === null) return false
  return 'key' in value && 'etag' in value && 'modifiedAt' in value && 'metadata' in value
}

function damaged(path: string): Error {
  return new Error(`the object file ${path} is damaged`)
}
