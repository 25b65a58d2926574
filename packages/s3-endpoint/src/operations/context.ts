import type { Backend, Upload } from '../backend.ts'
import type { RequestHeaders } from '../protocol/headers.ts'

/** A verified and authorised request for an operation. `bucket` and `key` are empty if the request names none. */
export interface OperationContext {
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
}
