import type { EncryptionKeys } from '@sluice/access-keys'
import type { Settings, SharedStore } from '@sluice/config'
import type { Database } from '@sluice/database'
import type { Transport } from '@sluice/mail'
import type { AppLimiter } from '@sluice/rate-limits'
import type { Signer } from '@sluice/sign-in'
import type { Storage } from '@sluice/storage'
import type { FastifyInstance } from 'fastify'
import type { Logger } from 'pino'
import type { SignInLimiter } from './sign-in/sign-in-limiter.ts'

/** What the pages work with. */
export interface DashboardContext {
  db: Database
  storage: Storage
  /** Where the queues live. */
  queueStore: SharedStore
  /** The way of sign-in mails. */
  mails: Transport
  signer: Signer
  /** Nothing is limited where it is left out. */
  signInLimiter?: SignInLimiter
  /** Members and invitations that an app may have. */
  memberLimit: number
  uploadLimiter?: AppLimiter
  settings: Settings<'WAITING_IMPORTS_LIMIT'>
  /** The address under which people reach the dashboard. */
  dashboardUrl: string
  /** The address under which clients reach the API: links to error files begin with it. */
  apiUrl: string
  /** The way for clients of S3: its address, what they name, and what the secrets of access keys are encrypted with. */
  s3Gateway: { url: string; bucket: string; region: string; encryptionKeys: EncryptionKeys }
  /** Addresses or networks, separated by commas, whose `X-Forwarded-For` is believed. */
  trustedProxies?: string | undefined
  log: Logger
}

/**
 * Adds the routes of one area of pages. Unless a route says otherwise in `config.access`, its visitor is signed in, and may see
 * the app that `:appId` in its address names.
 */
export type PageRoutes = (dashboard: FastifyInstance, context: DashboardContext) => void
