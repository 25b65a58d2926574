import type { Backend, Upload } from '../backend.ts'
import type { Answer } from '../protocol/answer.ts'
import type { RequestHeaders } from '../protocol/headers.ts'

/** The names of the operations that this endpoint implements, as in S3. */
export type OperationName =
  | 'AbortMultipartUpload'
  | 'CompleteMultipartUpload'
  | 'CopyObject'
  | 'CreateBucket'
  | 'CreateMultipartUpload'
  | 'DeleteObject'
  | 'DeleteObjects'
  | 'GetBucketLocation'
  | 'GetObject'
  | 'HeadBucket'
  | 'HeadObject'
  | 'ListBuckets'
  | 'ListMultipartUploads'
  | 'ListObjects'
  | 'ListObjectsV2'
  | 'ListParts'
  | 'PutObject'
  | 'UploadPart'

/** A verified and authorised request for an operation. `bucket` and `key` are empty if the request names none. */
export type OperationContext = {
  backend: Backend
  region: string
  bucket: string
  key: string
  query: ReadonlyMap<string, string>
  headers: RequestHeaders
  /**
   * Opens the body. May be called once. `describedBy` are the headers that describe the body; by default the request's
   * headers.
   *
   * The body is received when its chunks are read. A client that sent `Expect: 100-continue` is told to continue only
   * then.
   */
  openBody(describedBy?: RequestHeaders): Upload
  /** Asks the authorisation hook about another object that the request names. */
  isAllowed(operation: OperationName, bucket: string, key: string): Promise<boolean>
}

/** Runs an operation. Throws S3Error to refuse it. */
export type Operation = (context: OperationContext) => Promise<Answer>
