import { randomBytes } from 'node:crypto'
import { createApp } from '@sluice/accounts'
import { readSettings } from '@sluice/config'
import { buildDashboard } from '@sluice/dashboard-app/src/dashboard.ts'
import type { Database } from '@sluice/database'
import { startInbox } from '@sluice/local-stack'
import { mailSettings, openTransport } from '@sluice/mail'
import { type ClientPolicy, clientPolicy, openMetrics, openReadiness } from '@sluice/service'
import { addOperator, openSigner } from '@sluice/sign-in'
import type { Storage } from '@sluice/storage'
import { openAddressRule } from '@sluice/webhooks'
import { pino } from 'pino'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { freePort } from '../environment/free-port.ts'
import { openScratch } from '../environment/scratch.ts'
import { openTestStorage } from '../environment/storage.ts'

/** The dashboard in this process, listening, with real Postgres, storage and a mail server. */
export interface TestDashboard {
  url: string
  database: TestDatabase
  db: Database
  storage: Storage
  /** The routes that may change something, and what the audit log records of them. */
  auditedRoutes: ReturnType<typeof buildDashboard>['auditedRoutes']
  /** Returns all received mails, newest first. */
  mails(): Promise<{ to: string[]; subject: string; text: string; html: string }[]>
  close(): Promise<void>
}

type Context = Parameters<typeof buildDashboard>[0]

export const encryptionKeys = [randomBytes(32)]

/**
 * Opens a dashboard. `more` adds to its context, such as limits; it gets the database and the dashboard's address.
 * `clients` sets the policy for clients.
 */
export async function openTestDashboard(
  more: (database: TestDatabase, url: string) => Promise<Partial<Context>> = async () => ({}),
  clients: ClientPolicy = clientPolicy,
): Promise<TestDashboard> {
  const scratch = await openScratch('sluice-dashboard-')
  const inbox = await startInbox({ folder: scratch.path, host: '127.0.0.1', httpPort: 0, smtpPort: 0 })
  // The dashboard must know its address before it listens.
  const port = await freePort()
  const database = await openTestDatabase()
  const storage = openTestStorage()
  const mailServer = { SMTP_URL: inbox.smtpUrl, MAIL_FROM: 'Sluice <no-reply@sluice.test>' }
  const mails = openTransport(readSettings(mailServer, mailSettings))
  const url = `http://127.0.0.1:${port}`
  const context: Context = {
    ...{ db: database.db, storage, mails, signer: openSigner(database.db), log: pino({ level: 'silent' }) },
    memberLimit: 100,
    dashboardUrl: url,
    apiUrl: 'http://api.test',
    encryptionKeys,
    s3Gateway: { url: 'http://s3.test:3006', bucket: 'files', region: 'us-east-1' },
    webhookRule: { allowsHttp: false, isAllowed: openAddressRule() },
    queueStore: { databaseUrl: database.url },
    settings: readSettings({}, ['PROFILE_KEY_LIMIT', 'WAITING_IMPORTS_LIMIT', 'SERVICE_TIMEZONE']),
    ...(await more(database, url)),
  }
  const operations = { metrics: openMetrics(), readiness: openReadiness() }
  const dashboard = buildDashboard(context, operations, clients)
  await dashboard.listen({ host: '127.0.0.1', port })
  return {
    url,
    database,
    db: database.db,
    storage,
    auditedRoutes: dashboard.auditedRoutes,
    mails: async () => JSON.parse(await (await fetch(`${inbox.url}/api/mails`)).text()),
    async close() {
      await dashboard.close()
      mails.close()
      storage.close()
      await inbox.close()
      await database.close()
      await scratch[Symbol.asyncDispose]()
    },
  }
}

export async function openApp({ db }: Pick<TestDashboard, 'db'>, name = 'Shop', email = 'member@example.com') {
  return await createApp(db, { name, email })
}

export async function openOperator({ db }: TestDashboard, email = 'operator@example.com'): Promise<void> {
  await addOperator(db, email)
}
