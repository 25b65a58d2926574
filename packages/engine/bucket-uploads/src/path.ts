import { limits } from '@sluice/contract'

/** All apps' paths begin with this prefix, so one listing finds the unannounced files of all apps. */
export const uploadsPrefix = 'uploads/'

/**
 * Returns an app's path in the bucket. The keys of the app's files begin with it.
 *
 * @example
 * ```ts
 * pathOf(7) // → "uploads/7/"
 * ```
 */
export function pathOf(appId: number): string {
  return `${uploadsPrefix}${appId}/`
}

/** The app and the file name that a key of the bucket stands for. */
export interface FileKey {
  appId: number
  /** The part of the key after the app's path. It may break the rules for file names. */
  fileName: string
}

/**
 * Parses a key. Returns undefined if it is in no app's path.
 *
 * @example
 * ```ts
 * parseKey('uploads/7/people.csv') // → {"appId": 7, "fileName": "people.csv"}
 * parseKey('apps/7/people.csv') // → undefined
 * ```
 */
export function parseKey(key: string): FileKey | undefined {
  const found = /^uploads\/([1-9]\d{0,8})\/(.*)$/s.exec(key)
  return found?.[1] === undefined ? undefined : { appId: Number(found[1]), fileName: found[2] ?? '' }
}

/**
 * Checks a file name (service.md, Endpoints 4).
 *
 * Returns a description of the problem, or undefined if the name is valid. An encoded slash counts as a slash, because
 * a program may decode the name once too often.
 *
 * @example
 * ```ts
 * fileNameProblem('new people.csv') // → "the file name must contain no white space"
 * fileNameProblem('people.csv') // → undefined
 * ```
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
 * Whether a key or a prefix has `.` or `..` as a segment. An HTTP client or a proxy that resolves such a path would
 * reach another key than the checked one.
 *
 * Backslashes also separate segments. Encoded forms count, because a program may decode the path once too often.
 *
 * @example
 * ```ts
 * hasDotSegment('uploads/7/%2e%2E/8/people.csv') // → true
 * hasDotSegment('uploads/7/people..csv') // → false
 * ```
 */
export function hasDotSegment(key: string): boolean {
  return dotSegment.test(key)
}

/**
 * Checks the size of a file in bytes (service.md, Limits).
 *
 * Returns a description of the problem, or undefined if the size is allowed.
 *
 * @example
 * ```ts
 * fileSizeProblem(2 ** 30) // → undefined
 * fileSizeProblem(2 ** 30 + 1) // → "the file is larger than 1073741824 bytes"
 * ```
 */
export function fileSizeProblem(byteSize: number): string | undefined {
  return byteSize > limits.bucketBytes ? `the file is larger than ${limits.bucketBytes} bytes` : undefined
}
