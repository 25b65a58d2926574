import { S3Error } from '../errors.ts'

/** Adds the quotes that an ETag has on the wire. */
export function quoteEtag(etag: string): string {
  return `"${etag}"`
}

/** Removes the quotes of an ETag, and the mark of a weak ETag. */
export function parseEtag(text: string): string {
  return text.trim().replace(/^(?:W\/)?"?([^"]*)"?$/, '$1')
}

/** Throws PreconditionFailed unless an object's ETag is in the list of an If-Match header. `*` includes every ETag. */
export function checkIfMatch(etag: string, header: string | undefined): void {
  const etags = header?.split(',').map(parseEtag) ?? ['*']
  if (etags.includes('*') || etags.includes(etag)) return
  throw new S3Error('PreconditionFailed', 'At least one of the pre-conditions you specified did not hold')
}
