/** The HTTP status of each error code that this endpoint uses. */
const statusOfCode = {
  AccessControlListNotSupported: 400,
  AccessDenied: 403,
  AuthorizationHeaderMalformed: 400,
  AuthorizationQueryParametersError: 400,
  BadDigest: 400,
  BucketAlreadyOwnedByYou: 409,
  EntityTooLarge: 400,
  EntityTooSmall: 400,
  IncompleteBody: 400,
  InsufficientStorage: 507,
  InternalError: 500,
  InvalidAccessKeyId: 403,
  InvalidArgument: 400,
  InvalidBucketName: 400,
  InvalidDigest: 400,
  InvalidPart: 400,
  InvalidPartOrder: 400,
  InvalidRange: 416,
  InvalidRequest: 400,
  InvalidStorageClass: 400,
  InvalidToken: 400,
  InvalidURI: 400,
  KeyTooLongError: 400,
  MalformedTrailerError: 400,
  MalformedXML: 400,
  MaxMessageLengthExceeded: 400,
  MetadataTooLarge: 400,
  MissingContentLength: 411,
  NoSuchBucket: 404,
  NoSuchKey: 404,
  NoSuchUpload: 404,
  NotImplemented: 501,
  PreconditionFailed: 412,
  RequestTimeTooSkewed: 403,
  RequestTimeout: 400,
  SignatureDoesNotMatch: 403,
  SlowDown: 503,
  XAmzContentSHA256Mismatch: 400,
} as const

export type S3ErrorCode = keyof typeof statusOfCode

/**
 * An error of the S3 protocol, with which a request is refused.
 *
 * The message is public: it is sent in the answer's XML. `fields` are additional elements of the XML, such as `Region`.
 * `headers` are additional headers of the answer, such as the `Content-Range` of a refused range.
 */
export class S3Error extends Error {
  readonly code: S3ErrorCode
  readonly status: number
  readonly fields: Record<string, string>
  readonly headers: Record<string, string>

  constructor(
    code: S3ErrorCode,
    message: string,
    extra: { fields?: Record<string, string>; headers?: Record<string, string> } = {},
  ) {
    super(message)
    this.name = 'S3Error'
    this.code = code
    this.status = statusOfCode[code]
    this.fields = extra.fields ?? {}
    this.headers = extra.headers ?? {}
  }
}

const fullDiskCodes = new Set(['ENOSPC', 'EDQUOT'])

/**
 * Converts any error to an {@link S3Error} for the client.
 *
 * A full disk becomes InsufficientStorage, so the sender knows that repeating the request is useless for now. Any other
 * error becomes an InternalError without details.
 */
export function toS3Error(error: unknown): S3Error {
  if (error instanceof S3Error) return error
  const code = systemErrorCode(error)
  if (code !== undefined && fullDiskCodes.has(code)) {
    return new S3Error('InsufficientStorage', 'There is not enough room left to store this.')
  }
  return new S3Error('InternalError', 'We encountered an internal error. Please try again.')
}

/** Returns the operating system's code of an error, such as `ENOENT`, or undefined if it has none. */
export function systemErrorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
