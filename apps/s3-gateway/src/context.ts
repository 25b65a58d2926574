import type { UploadContext } from '@sluice/bucket-uploads'
import type { WakeWorker } from '@sluice/imports'
import type { AppLimiter } from '@sluice/rate-limits'
import type { Pace } from '@sluice/service'

/** The services that the S3 gateway uses. */
export interface GatewayContext extends UploadContext {
  /** Limits the rate of uploads. Without it, there is no limit. */
  limiter?: AppLimiter
  /** Called when an import was queued. Without it, maintenance dispatches the import. */
  wakeWorker?: WakeWorker
  /** Passes the bodies of uploads to storage, at their app's pace. */
  paced: Pace
}
