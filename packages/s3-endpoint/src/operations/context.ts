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
  /** Begins to take the body in. Call it once, and as late as possible: a client that waits to send is told to go on. */
  openBody(): Upload
  /** Asks the authorisation hook about another object that the request touches. */
  isAllowed(operation: OperationName, bucket: string, key: string): Promise<boolean>
}

/** Carries an operation out. Throws S3Error to refuse it. */
export type Operation = (context: OperationContext) => Promise<Answer>
