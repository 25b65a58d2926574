import type { BucketUploadContext } from '@sluice/bucket-uploads'
import type { AppLimiter } from '@sluice/rate-limits'
import type { Logger } from 'pino'

/** What the S3 gateway works with. */
export interface RelayContext extends BucketUploadContext {
  log: Logger
  /** Nothing is limited if it is left out. */
  limiter?: AppLimiter
}
