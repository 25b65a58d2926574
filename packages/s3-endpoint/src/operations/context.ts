import type { Backend, Upload } from '../backend.ts'
import type { Answer } from '../protocol/answer.ts'
import type { RequestHeaders } from '../protocol/headers.ts'

/** The operations that this endpoint knows, by their names in S3. */
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

/** A verified and authorised request, as its operation sees it. `bucket` and `key` are empty where there is none. */
export type OperationContext = {
  backend: Backend
  region: string
  bucket: string
  key: string
  query: ReadonlyMap<string, string>
  headers: RequestHeaders
  /**
   * Checks what `describedBy` (the request's headers, if left out) says of the body, and gives the body. Call it once.
   * It comes in when its chunks are asked for: a client that waits to send is told to go on only then.
   */
  openBody(describedBy?: RequestHeaders): Upload
  /** Asks the authorisation hook about another object that the request touches. */
  isAllowed(operation: OperationName, bucket: string, key: string): Promise<boolean>
}

/** Carries an operation out. Throws S3Error to refuse it. */
export type Operation = (context: OperationContext) => Promise<Answer>
