import type { ObjectInfo, WriteCondition } from '../backend.ts'
import { S3Error } from '../errors.ts'
import type { RequestHeaders } from './headers.ts'

/** The conditions under which an object is to be read, as the headers of the same names write them. */
export type ReadConditions = {
  ifMatch: string | undefined
  ifNoneMatch: string | undefined
  ifModifiedSince: string | undefined
  ifUnmodifiedSince: string | undefined
}

/** Reads the conditions from headers; `prefix` is `x-amz-copy-source-` for the source of a copy. */
export function readConditions(headers: RequestHeaders, prefix = ''): ReadConditions {
  return {
    ifMatch: headers.get(`${prefix}if-match`),
    ifNoneMatch: headers.get(`${prefix}if-none-match`),
    ifModifiedSince: headers.get(`${prefix}if-modified-since`),
    ifUnmodifiedSince: headers.get(`${prefix}if-unmodified-since`),
  }
}

/**
 * Tells whether an object may be read under the conditions: 'proceed', 'not-modified' or 'failed'.
 *
 * An ETag goes before a date, in both pairs; a date that cannot be read counts as none (RFC 9110, 13.2.2).
 */
export function checkConditions(
  object: Pick<ObjectInfo, 'etag' | 'modifiedAt'>,
  conditions: ReadConditions,
): 'proceed' | 'not-modified' | 'failed' {
  const modifiedAt = object.modifiedAt.getTime()
  if (conditions.ifMatch !== undefined) {
    if (!matches(object.etag, conditions.ifMatch)) return 'failed'
  } else if (modifiedAt > Date.parse(conditions.ifUnmodifiedSince ?? '')) {
    return 'failed'
  }
  if (conditions.ifNoneMatch !== undefined) {
    if (matches(object.etag, conditions.ifNoneMatch)) return 'not-modified'
  } else if (modifiedAt <= Date.parse(conditions.ifModifiedSince ?? '')) {
    return 'not-modified'
  }
  return 'proceed'
}

/**
 * Reads the condition of a write: `If-None-Match: *` or `If-Match`.
 *
 * Throws NotImplemented for any other If-None-Match, as S3 does.
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

/** Takes an ETag out of its quotes and the mark of a weak one. */
export function parseEtag(text: string): string {
  return text.trim().replace(/^(?:W\/)?"?([^"]*)"?$/, '$1')
}

function parseEtags(header: string): string[] {
  return header.split(',').map(parseEtag)
}

function matches(etag: string, header: string): boolean {
  const etags = parseEtags(header)
  return etags.includes('*') || etags.includes(etag)
}
