import type { Settings, SharedStore } from '@sluice/config'
import { TooManyWaiting } from '@sluice/imports'
import { type AppLimiter, openAppLimiter } from '@sluice/rate-limits'
import { S3Error } from '@sluice/s3-endpoint'
import type { Logger } from 'pino'

export const bucketLimitSettings = ['RATE_LIMIT_BUCKET_IMPORT', 'RATE_LIMIT_TIMEOUT'] as const

/**
 * Opens the limiter of an app's bucket uploads, in the store that all processes share (design.md §3, Waiting imports).
 *
 * While the store is unavailable, each process counts on its own and logs a warning.
 */
export function openBucketLimiter(
  store: SharedStore,
  settings: Settings<(typeof bucketLimitSettings)[number]>,
  log: Logger,
): Promise<AppLimiter> {
  return openAppLimiter(store, 'bucket_import', settings.RATE_LIMIT_BUCKET_IMPORT, {
    deadlineMs: settings.RATE_LIMIT_TIMEOUT,
    onFailure: (error) => log.warn({ err: error }, 'uploads are counted by this process alone'),
  })
}

/** Counts a new upload. Throws SlowDown if the app has begun too many. */
export async function countUpload({ limiter }: { limiter?: AppLimiter }, appId: number): Promise<void> {
  const seconds = await limiter?.refuse(appId)
  if (seconds !== undefined) throw slowDown('Uploads came too quickly.', seconds)
}

/**
 * Waits for the start of an upload. Throws SlowDown if the app has as many waiting imports as it may have
 * (design.md §3, Waiting imports).
 */
export async function unlessTooManyWait<Result>(beginning: Promise<Result>): Promise<Result> {
  try {
    return await beginning
  } catch (error) {
    if (!(error instanceof TooManyWaiting)) throw error
    throw slowDown(`${error.message}.`, error.retryAfter)
  }
}

function slowDown(reason: string, seconds: number): S3Error {
  const headers = { 'Retry-After': String(seconds) }
  return new S3Error('SlowDown', `${reason} Please try again in ${seconds} seconds.`, { headers })
}
