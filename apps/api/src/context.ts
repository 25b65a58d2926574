import type { authenticator } from '@sluice/accounts'
import type { Settings } from '@sluice/config'
import type { Database } from '@sluice/database'
import type { deletionRequestSettings } from '@sluice/deletions'
import type { receiveSettings } from '@sluice/imports'
import type { Storage } from '@sluice/storage'
import type { Logger } from 'pino'

/** What the API is built on. */
export interface ApiServices {
  db: Database
  storage: Storage
  /** The address under which clients reach the API. */
  apiUrl: string
  settings: Settings<(typeof receiveSettings | typeof deletionRequestSettings)[number]>
  log: Logger
}

/** What the routes work with. */
export interface ApiContext extends ApiServices {
  /** Finds the app of a token; one for all routes, so that look-ups can be joined. */
  authenticate: ReturnType<typeof authenticator>
}
