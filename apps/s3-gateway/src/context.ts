import type { UploadContext } from '@sluice/bucket-uploads'
import type { AppLimiter } from '@sluice/rate-limits'
import type { Logger } from 'pino'

/** The services that the S3 gateway uses. */
export interface RelayContext extends UploadContext {
  log: Logger
  /** Limits the rate of uploads. Without it, there is no limit. */
  limiter?: AppLimiter
}
