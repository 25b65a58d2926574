import type { Settings, SharedStore } from '@sluice/config'
import { type AppLimiter, openAppLimiter } from '@sluice/rate-limits'
import type { Logger } from 'pino'

export const uploadLimitSettings = ['RATE_LIMIT_DASHBOARD_IMPORT', 'RATE_LIMIT_TIMEOUT'] as const

/**
 * Opens the rate limit of uploads for each app, in the store that all processes share (design.md §3, Waiting imports).
 * During an outage of the store, each process counts alone and logs a warning.
 */
export function openUploadLimiter(
  store: SharedStore,
  settings: Settings<(typeof uploadLimitSettings)[number]>,
  log: Logger,
): Promise<AppLimiter> {
  return openAppLimiter(store, 'dashboard_import', settings.RATE_LIMIT_DASHBOARD_IMPORT, {
    deadlineMs: settings.RATE_LIMIT_TIMEOUT,
    onFailure: (error) => log.warn({ err: error }, 'uploads are counted by this process alone'),
  })
}
