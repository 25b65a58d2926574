import type { Settings, SharedStore } from '@sluice/config'
import type { Database } from '@sluice/database'
import type { deletionRequestSettings } from '@sluice/deletions'
import type { EncryptionKeys } from '@sluice/encryption'
import type { WakeWorker } from '@sluice/imports'
import type { Transport } from '@sluice/mail'
import type { CellRouter } from '@sluice/moves'
import type { AppLimiter } from '@sluice/rate-limits'
import type { IdentityProvider, Signer } from '@sluice/sign-in'
import type { Storage } from '@sluice/storage'
import type { UrlRule } from '@sluice/webhooks'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { RequestLimiter } from './access/request-limits.ts'
import type { SignInLimiter } from './sign-in/sign-in-limiter.ts'

/** The services and settings that pages use. */
export interface DashboardContext {
  db: Database
  storage: Storage
  queueStore: SharedStore
  /** Keys of the secrets in the database. */
  encryptionKeys: EncryptionKeys
  /** Called when an import was queued. Without it, maintenance dispatches the import. */
  wakeWorker?: WakeWorker
  /** The transport of mails with links, which do not use the outbox. */
  mails: Transport
  signer: Signer
  /** If it is missing, sign-in is not limited. */
  signInLimiter?: SignInLimiter
  /** The OpenID Connect provider that people may sign in with. */
  provider?: IdentityProvider | undefined
  /** Whether people may request sign-in links by mail. If it is missing, they may. */
  mailsLinks?: boolean
  /** Where the mails of a local stack can be read. */
  inboxUrl?: string | undefined
  /** Maximum number of members and invitations of an app. */
  memberLimit: number
  uploadLimiter?: AppLimiter
  /** If it is missing, the rate of pages and forms is not limited. */
  requestLimiter?: RequestLimiter
  settings: Settings<'PROFILE_KEY_LIMIT' | 'WAITING_IMPORTS_LIMIT' | (typeof deletionRequestSettings)[number]>
  /** The address of the dashboard for people. */
  dashboardUrl: string
  /** The address of the API for clients. Links to error files begin with it. */
  apiUrl: string
  /** The S3 gateway as its clients see it. */
  s3Gateway: { url: string; bucket: string; region: string }
  /** Cells of the service, which divide the apps among them. Without it, this dashboard shows all apps. */
  cells?: CellRouter | undefined
  /** Which addresses webhook endpoints may have. */
  webhookRule: UrlRule
  /** Addresses or networks of trusted proxies, separated by commas. Their `X-Forwarded-For` is used. */
  trustedProxies?: string[] | undefined
  log: Logger
}

/**
 * Adds the routes of one area of pages. Visitors of a route are signed in and may see the app of `:appId`, unless
 * `config.access` of the route states otherwise.
 */
export type PageRoutes = (dashboard: FastifyInstance, context: DashboardContext) => void
