import { mkdtemp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Connection, connect, type Database, sql } from '@sluice/database'
import { startS3Endpoint } from '@sluice/local-stack'
import { openStorage, type Storage, type StorageSettings } from '@sluice/storage'
import { type MailServer, startMailServer } from '../../environment/mail-server.ts'
import { modelSettings } from '../../faults/harness/expectation.ts'
import { startTcpProxy } from '../../faults/harness/tcp-proxy.ts'
import { watchImports } from '../../faults/harness/watcher.ts'
import type { ServerName } from './points.ts'
import type { SweepServers } from './servers.ts'

/** The servers of one run, without the process under test. */
export interface SweepSystem {
  /** Address of the API. It does not change when the process is replaced. */
  api: string
  /** Address of the S3 gateway. */
  gateway: string
  db: Database
  /** Address of the database, without a proxy. */
  databaseUrl: string
  storage: Storage
  storageSettings: StorageSettings
  mail: MailServer
  orderWaitMs: number
  /** Ports of the servers. Processes connect to them through proxies of their own. */
  ports: Record<ServerName, number>
  /** Opens the database of another cell, to which the app moves. Returns its address, without a proxy. */
  openCell(): Promise<string>
  /** Closes a connection with the system. */
  withDatabase(connection: Connection): Connection
  /** Returns the settings of a process that reaches the servers at these ports. */
  settings(ports: Record<ServerName, number>): Record<string, string>
  /** Makes the addresses of the API and of the S3 gateway lead to these ports. */
  leadTo(ports: { api: number; gateway: number }): void
  close(): Promise<void>
}

/** How long a worker keeps an import without renewing its lease, ms: longer than three undisturbed imports take. */
export const leaseMs = 4_000

const orderWaitMs = 1_000
const region = 'us-east-1'
const bucket = 'sweep'
const credentials = { accessKeyId: 'sweep', secretAccessKey: 'sweep-secret' }
const encryptionKey = Buffer.alloc(32, 1).toString('base64')

/** Opens a database, a bucket and a mail server for one run. */
export async function openSystem(servers: SweepServers): Promise<SweepSystem> {
  const parts = new AsyncDisposableStack()
  try {
    const database = await servers.acquireDatabase()
    parts.defer(database.release)
    const { db, close } = connect(database.url, { connections: 4, onError: () => {} })
    parts.defer(close)
    await watchImports(db)
    const root = await mkdtemp(join(servers.folder, 'storage-'))
    parts.defer(() => rm(root, { recursive: true, force: true, maxRetries: 5 }))
    const endpoint = await startS3Endpoint({
      ...{ root, region, credentials, buckets: [bucket], host: '127.0.0.1', port: 0 },
      onError: () => {},
    })
    parts.defer(endpoint.close)
    // The proxy sees only what the client sends: it cannot know whether the server accepted a pipelined DATA.
    const mail = await startMailServer({ pipelining: false })
    parts.defer(mail.close)
    const target = { api: 0, gateway: 0 }
    const api = await startTcpProxy(() => target.api)
    parts.defer(api.close)
    const gateway = await startTcpProxy(() => target.gateway)
    parts.defer(gateway.close)
    const storageSettings = {
      S3_ENDPOINT: endpoint.url,
      S3_REGION: region,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    }
    const storage = openStorage(storageSettings)
    parts.defer(async () => storage.close())
    const apiUrl = `http://127.0.0.1:${api.port}`
    let cellUrl: string | undefined
    const redisPort = servers.redisUrl === undefined ? 0 : Number(new URL(servers.redisUrl).port)
    return {
      ...{ api: apiUrl, gateway: `http://127.0.0.1:${gateway.port}`, db, storage, storageSettings, mail, orderWaitMs },
      databaseUrl: database.url,
      withDatabase(connection) {
        parts.defer(connection.close)
        return connection
      },
      async openCell() {
        const cell = await servers.acquireDatabase()
        parts.defer(cell.release)
        cellUrl = cell.url
        return cell.url
      },
      ports: {
        postgres: Number(new URL(database.url).port),
        redis: redisPort,
        storage: endpoint.port,
        mail: mail.port,
      },
      settings: (ports) => ({
        ...storageSettings,
        ...fixedSettings,
        DATABASE_URL: withPort(database.url, ports.postgres),
        ...(cellUrl !== undefined && { SWEEP_SOURCE: database.url, SWEEP_TARGET: withPort(cellUrl, ports.postgres) }),
        ...(redisPort !== 0 && {
          REDIS_URL: `redis://127.0.0.1:${ports.redis}`,
          REDIS_KEY_PREFIX: new URL(database.url).pathname.slice(1),
        }),
        S3_ENDPOINT: `http://127.0.0.1:${ports.storage}`,
        S3_PUBLIC_ENDPOINT: endpoint.url,
        SMTP_URL: `smtp://127.0.0.1:${ports.mail}`,
        API_URL: apiUrl,
        S3_GATEWAY_URL: `http://127.0.0.1:${gateway.port}`,
      }),
      leadTo: (ports) => void Object.assign(target, ports),
      close: () => parts.disposeAsync(),
    }
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

const fixedSettings = {
  MAIL_FROM: 'Sluice <no-reply@sluice.test>',
  ENCRYPTION_KEYS: encryptionKey,
  API_PORT: '0',
  S3_GATEWAY_PORT: '0',
  WORKER_QUEUES: 'imports,exports,mails',
  RATE_LIMIT_BULK_IMPORT: '1000000/60s',
  RATE_LIMIT_BULK_IMPORT_V2: '1000000/60s',
  BATCH_ROWS: String(modelSettings.batchRows),
  INFERENCE_ROWS: String(modelSettings.inferenceRows),
  IMPORT_LEASE: `${leaseMs}ms`,
  // A pair of faults must not use up the tries of an import.
  IMPORT_ATTEMPTS: '100',
  UPLOAD_CHECK_INTERVAL: '200ms',
  UPLOAD_ORDER_WAIT: `${orderWaitMs}ms`,
}

function withPort(address: string, port: number): string {
  const url = new URL(address)
  url.port = String(port)
  return url.href
}

/**
 * Makes due what only waits for time to pass: the next try of an import, and the next attempt of a mail. While a
 * process is busy, it may be sending a mail, so mails are left alone.
 */
export async function letTimePass({ db }: SweepSystem, isBusy: boolean): Promise<void> {
  await sql`update imports set retry_at = now() where state = 'queued' and retry_at > now()`.execute(db)
  if (isBusy) return
  await sql`update mails set next_attempt_at = now() where state = 'waiting' and next_attempt_at > now()`.execute(db)
}
