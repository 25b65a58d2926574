import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { connect, type Database } from '@sluice/database'
import type { StorageSettings } from '@sluice/storage'
import { openTestDatabase } from '../../environment/database.ts'
import { freePort } from '../../environment/free-port.ts'
import { type MailServer, startMailServer } from '../../environment/mail-server.ts'
import { makeBucket, testStorageSettings } from '../../environment/storage.ts'
import { type AppProcess, startApp } from './app-process.ts'
import { appSettings } from './app-settings.ts'

/**
 * Apps as processes on the Postgres and the storage that all tests share, without proxies. A test that breaks a server
 * or its network needs a deployment of `deployment.ts`, which starts 3 s later because it has a Postgres of its own.
 */
export interface SmallDeployment {
  /** Address of the API, also before the API starts. */
  api: string
  db: Database
  databaseUrl: string
  /** A bucket that only this deployment uses. */
  storageSettings: StorageSettings
  mail: MailServer
  orderWaitMs: number
  /** The settings of the apps, as environment variables. */
  settings: Readonly<Record<string, string>>
  /** Starts a process, and waits until it is ready. `env` contains additional settings. */
  start(app: 'api' | 'worker' | 'dashboard' | 's3-gateway', env?: Record<string, string>): Promise<AppProcess>
  /** Ends the processes as a supervisor does. Throws if a process that was not killed does not end by itself. */
  stopApps(): Promise<void>
  close(): Promise<void>
}

/** Opens a deployment without processes. `env` contains additional settings of all apps. */
export async function openSmallDeployment(env: Record<string, string> = {}): Promise<SmallDeployment> {
  const parts = new AsyncDisposableStack()
  const database = await openTestDatabase()
  parts.defer(() => database.close())
  // The pool of the test database may have connections from before a change of the database's settings.
  const { db, close } = connect(database.url, { connections: 4 })
  parts.defer(close)
  const bucket = `deployment-${randomBytes(8).toString('hex')}`
  await makeBucket(bucket)
  const storageSettings = { ...testStorageSettings(), S3_BUCKET: bucket }
  const mail = await startMailServer()
  parts.defer(mail.close)
  const apiPort = await freePort()
  const api = `http://127.0.0.1:${apiPort}`
  const settings = {
    ...appSettings,
    DATABASE_URL: database.url,
    ...storageSettings,
    SMTP_URL: `smtp://127.0.0.1:${mail.port}`,
    API_URL: api,
    API_PORT: String(apiPort),
    ...env,
  }
  const processes: AppProcess[] = []
  parts.defer(async () => {
    for (const { kill } of processes) kill('SIGKILL')
    await Promise.all(processes.map(({ exited }) => exited))
  })
  return {
    ...{ api, db, databaseUrl: database.url, storageSettings, mail, orderWaitMs: 30_000, settings },
    async start(app, more = {}) {
      const started = await startApp({ app, env: { ...settings, ...more }, log: () => {} })
      processes.push(started)
      return started
    },
    async stopApps() {
      for (const { kill } of processes) kill('SIGTERM')
      const ends = await Promise.all(processes.map(({ exited }) => exited))
      assert.deepEqual(
        ends.filter((end) => end !== 'SIGKILL' && end !== 0),
        [],
        'processes ended with',
      )
    },
    close: () => parts.disposeAsync(),
  }
}
