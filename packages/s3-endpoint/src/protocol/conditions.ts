import type { DeleteCondition, ObjectInfo, WriteCondition } from '../backend.ts'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from './headers.ts'

/** The conditions for reading an object: the values of the headers of the same names. */
export type ReadConditions = {
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
  ifModifiedSince: string | undefined
  ifUnmodifiedSince: string | undefined
}

/** Reads the conditions of a GET or HEAD. */
export function readConditions(headers: RequestHeaders): ReadConditions {
  return conditionsOf(headers, '')
}

/**
 * Reads the conditions on the source of a copy.
 *
 * Throws InvalidArgument if a date cannot be read. A GET may ignore such a date, because it changes nothing. A copy
 * would write an object that the condition may forbid.
 */
export function readSourceConditions(headers: RequestHeaders): ReadConditions {
  const conditions = conditionsOf(headers, 'x-amz-copy-source-')
  for (const date of [conditions.ifModifiedSince, conditions.ifUnmodifiedSince]) {
    if (date !== undefined && Number.isNaN(Date.parse(date))) throw invalid('x-amz-copy-source-if-…-since', 'a date')
  }
  return conditions
}

function conditionsOf(headers: RequestHeaders, prefix: string): ReadConditions {
  return {
    ifMatch: headers.get(`${prefix}if-match`),
    ifNoneMatch: headers.get(`${prefix}if-none-match`),
    ifModifiedSince: headers.get(`${prefix}if-modified-since`),
    ifUnmodifiedSince: headers.get(`${prefix}if-unmodified-since`),
  }
}

/**
 * Checks the conditions for reading an object.
 *
 * In both pairs of conditions, the ETag takes precedence over the date. A date that cannot be read is ignored (RFC
 * 9110, 13.2.2).
 */
export function checkConditions(
  object: Pick<ObjectInfo, 'etag' | 'modifiedAt'>,
  conditions: ReadConditions,
): 'proceed' | 'not-modified' | 'failed' {
  const modifiedAt = object.modifiedAt.getTime()
  if (conditions.ifMatch !== undefined) {
    if (!isNamed(object.etag, parseEtags(conditions.ifMatch))) return 'failed'
  } else if (modifiedAt > Date.parse(conditions.ifUnmodifiedSince ?? '')) {
    return 'failed'
  }
  if (conditions.ifNoneMatch !== undefined) {
    if (isNamed(object.etag, parseEtags(conditions.ifNoneMatch))) return 'not-modified'
  } else if (modifiedAt <= Date.parse(conditions.ifModifiedSince ?? '')) {
    return 'not-modified'
  }
  return 'proceed'
}

/**
 * Reads the condition of a write: `If-None-Match: *` or `If-Match`.
 *
 * Throws NotImplemented for any other value of If-None-Match, as S3 does.
 */
export function readWriteCondition(headers: RequestHeaders): WriteCondition | undefined {
  const ifNoneMatch = headers.get('if-none-match')
  const ifMatch = headers.get('if-match')
  if (ifNoneMatch !== undefined && (ifNoneMatch !== '*' || ifMatch !== undefined)) {
    throw new S3Error('NotImplemented', 'A write takes either If-None-Match: * or If-Match.')
  }
  if (ifNoneMatch !== undefined) return { ifAbsent: true }
  return ifMatch === undefined ? undefined : { ifMatch: parseEtags(ifMatch) }
}

/** Reads the condition of a deletion from its headers. Throws InvalidArgument if the size or the date is broken. */
export function readDeleteCondition(headers: RequestHeaders): DeleteCondition | undefined {
  const condition = {
    etag: headers.get('if-match'),
    modifiedAt: headers.get('x-amz-if-match-last-modified-time'),
    size: headers.get('x-amz-if-match-size'),
  }
  return parseDeleteCondition(condition, (field) => invalid(field, 'one of an object'))
}

/** Parses the condition of a deletion. If the size or the date is broken, throws the error that `refusal` returns. */
export function parseDeleteCondition(
  { etag, modifiedAt, size }: Record<'etag' | 'modifiedAt' | 'size', string | undefined>,
  refusal: (field: string) => S3Error,
): DeleteCondition | undefined {
  if (etag === undefined && modifiedAt === undefined && size === undefined) return undefined
  const time = modifiedAt === undefined ? undefined : new Date(modifiedAt)
  if (time !== undefined && Number.isNaN(time.getTime())) throw refusal('The time of change')
  if (size !== undefined && !/^\d{1,15}$/.test(size)) throw refusal('The size')
  return {
    ifMatch: etag === undefined ? undefined : parseEtags(etag),
    modifiedAt: time,
    size: size === undefined ? undefined : Number(size),
  }
}

/** Whether an object meets the condition of its deletion. */
export function meetsDeleteCondition(
  object: Pick<ObjectInfo, 'etag' | 'modifiedAt' | 'size'>,
  { ifMatch, modifiedAt, size }: DeleteCondition,
): boolean {
  return (
    (ifMatch === undefined || isNamed(object.etag, ifMatch)) &&
    (modifiedAt === undefined || modifiedAt.getTime() === object.modifiedAt.getTime()) &&
    (size === undefined || size === object.size)
  )
}

/** Whether the ETags of a condition include an ETag. `*` includes every ETag. */
export function isNamed(etag: string, etags: readonly string[]): boolean {
  return etags.includes('*') || etags.includes(etag)
}

/** Removes the quotes of an ETag, and the mark of a weak ETag. */
export function parseEtag(text: string): string {
  return text.trim().replace(/^(?:W\/)?"?([^"]*)"?$/, '$1')
}

function parseEtags(header: string): string[] {
  return header.split(',').map(parseEtag)
}

function invalid(name: string, form: string): S3Error {
  return new S3Error('InvalidArgument', `${name} must be ${form}.`)
}
