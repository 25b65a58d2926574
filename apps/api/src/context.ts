import type { authenticator } from '@sluice/accounts'
import type { Settings } from '@sluice/config'
import type { Database } from '@sluice/database'
import type { deletionRequestSettings } from '@sluice/deletions'
import type { receiveSettings, StateWatch, UploadWatch, WakeWorker } from '@sluice/imports'
import type { Readiness } from '@sluice/service'
import type { Storage } from '@sluice/storage'
import type { Logger } from 'pino'
import type { ApiMetrics } from './metrics.ts'
import type { Guide, GuideName } from './openapi/guides.ts'
import type { ServedDocument } from './openapi/served-document.ts'

export interface ApiServices {
  db: Database
  storage: Storage
  /** The address at which clients reach the API. */
  apiUrl: string
  settings: Settings<(typeof receiveSettings | typeof deletionRequestSettings)[number]>
  log: Logger
  /** Looks for the files of first requests. Without it, maintenance alone does. */
  uploads?: UploadWatch
  /** Called when an import was queued. Without it, maintenance dispatches the import. */
  wakeWorker?: WakeWorker
}

export interface ApiContext extends ApiServices {
  /** Finds the app of a token. All routes share this function, so that simultaneous lookups share one query. */
  authenticate: ReturnType<typeof authenticator>
  /** Waits for changes of state, for the requests that ask for it. */
  states: StateWatch
  metrics: ApiMetrics
  readiness: Readiness
  /** The API document, for programs and for people, and what else the API serves about itself. */
  document: Record<'json' | 'html' | 'llms', ServedDocument> & { guideOf(name: GuideName): Guide }
}
