import type { DropboxContext } from '@sluice/dropbox'
import type { AppLimiter } from '@sluice/rate-limits'
import type { Logger } from 'pino'

/** What the dropbox works with. */
export interface RelayContext extends DropboxContext {
  log: Logger
  /** Nothing is limited if it is left out. */
  limiter?: AppLimiter
}
