import type { DropboxContext } from '@sluice/dropbox'
import type { Logger } from 'pino'

/** What the dropbox works with. */
export interface RelayContext extends DropboxContext {
  log: Logger
}
