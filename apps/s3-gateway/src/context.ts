import type { UploadContext } from '@sluice/bucket-uploads'
import type { AppLimiter } from '@sluice/rate-limits'

/** The services that the S3 gateway uses. */
export interface RelayContext extends UploadContext {
  /** Limits the rate of uploads. Without it, there is no limit. */
  limiter?: AppLimiter
}
