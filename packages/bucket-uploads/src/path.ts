import { limits } from '@sluice/contract'

/** Under this lies every app's path, so that one listing finds what came past the S3 gateway, whatever the number of apps. */
export const uploadsPrefix = 'uploads/'

/** An app's path in the bucket: the keys of its files begin with it. */
export function pathOf(appId: number): string {
  return `${uploadsPrefix}${appId}/`
}

/** A key of the bucket as the app and the file name that it stands for. */
export interface FileKey {
  appId: number
  /** Whatever follows the app's path: it may break the rules. */
  fileName: string
}

/** Reads a key; undefined where it lies in no app's path. */
export function parseKey(key: string): FileKey | undefined {
  const found = /^uploads\/([1-9]\d{0,8})\/(.*)$/s.exec(key)
  return found?.[1] === undefined ? undefined : { appId: Number(found[1]), fileName: found[2] ?? '' }
}

/**
 * Says what is wrong with a file name (service.md, Bulk import v3, other upload routes); undefined where nothing is.
 *
 * A slash counts in its encoded form as well: a program that decodes once too often would take it for one.
 */
export function fileNameProblem(fileName: string): string | undefined {
  if (fileName === '') return 'the file name is empty'
  if (/\/|%2f/i.test(fileName)) return 'the file name must contain no slash'
  if (/[\s\p{Cc}]/u.test(fileName)) return 'the file name must contain no white space'
  if (fileName === '.' || fileName === '..') return `the file name must not be ${fileName}`
  return undefined
}

const dot = String.raw`(?:\.|%(?:25)*2e)`
const separator = String.raw`(?:[/\\]|%(?:25)*(?:2f|5c))`
const dotSegment = new RegExp(`(?:^|${separator})${dot}{1,2}(?:${separator}|$)`, 'i')

/**
 * Whether a key or a prefix has `.` or `..` as a segment. What resolves such a path, such as an HTTP client or a proxy, would
 * reach another key than the one that was checked.
 *
 * Backslashes separate segments too, and encoded forms count: a program may decode once too often.
 */
export function hasDotSegment(key: string): boolean {
  return dotSegment.test(key)
}

/** Says whether a file is too large for the bucket (service.md, Limits); undefined where it is not. Takes bytes. */
export function fileSizeProblem(byteSize: number): string | undefined {
  return byteSize > limits.bucketBytes ? `the file is larger than ${limits.bucketBytes} bytes` : undefined
}
