import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Connection, connect, type Database, migrate } from '@sluice/database'
import { memoryLimits } from '@sluice/local-stack'
import { migrateQueue } from '@sluice/queue'
import { type S3Endpoint, startS3Endpoint } from '@sluice/s3-endpoint'
import { openStorage, type Storage, type StorageSettings } from '@sluice/storage'
import { type AppProcess, type LogLine, startApp } from './app-process.ts'
import { modelSettings } from './expectation.ts'
import { type MailServer, startMailServer } from './mail-server.ts'
import {
  type FaultyPostgres,
  type FaultyRedis,
  startFaultyPostgres,
  startFaultyRedis,
  throughProxy,
} from './servers.ts'
import { type StorageProxy, startStorageProxy } from './storage-proxy.ts'
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'
import { watchImports } from './watcher.ts'

/** What {@link startDeployment} takes. */
export interface DeploymentOptions {
  /** Worker processes; 2 where it is left out. */
  workers?: number
  queue?: 'postgres' | 'redis'
  /** `UPLOAD_ORDER_WAIT`, ms; 30 s where it is left out. */
  orderWaitMs?: number
  /** Further settings of the Postgres server. */
  postgresSettings?: Readonly<Record<string, string>>
  /** Further settings of the apps, as environment variables. */
  env?: Record<string, string>
  /** Folder for the objects, where it is not to be the deployment's own: a full disk, say. */
  storageFolder?: string
  /** Port of the API's address, where it is to be that of an earlier deployment; any free one where it is left out. */
  apiPort?: number
}

/** The apps as a deployment runs them, with a proxy in front of every server that they use. */
export interface Deployment {
  /** Address of the API; it stays the same when the process is replaced. */
  api: string
  /** Past the proxies, as are the next two. Queries fail while Postgres is restarted. */
  db: Database
  databaseUrl: string
  storage: Storage
  storageSettings: StorageSettings
  postgres: FaultyPostgres
  redis: FaultyRedis | undefined
  /** The network to storage, and storage's own faults. */
  storageNetwork: TcpProxy
  storageFaults: StorageProxy
  mail: MailServer
  mailNetwork: TcpProxy
  orderWaitMs: number
  /** Everything that all processes have logged. */
  log: LogLine[]
  /** The processes that run at the moment. One that ends is replaced. */
  workers(): AppProcess[]
  /** Starts another worker, which has settings or options of Node of its own. */
  addWorker(special: Special): Promise<AppProcess>
  apis(): AppProcess[]
  /** Ends all processes as a supervisor does. Throws where one has to be forced to. */
  stopApps(): Promise<void>
  close(): Promise<void>
}

/** How a process differs from the others. */
interface Special {
  env?: Record<string, string>
  nodeOptions?: readonly string[]
}

/** How long a replacement waits, ms. */
const replaceAfter = 200

/** Starts everything and waits until it is ready. */
export async function startDeployment(options: DeploymentOptions = {}): Promise<Deployment> {
  const parts = new AsyncDisposableStack()
  try {
    return await startParts(options, parts)
  } catch (error) {
    await parts.disposeAsync()
    throw error
  }
}

async function startParts(options: DeploymentOptions, parts: AsyncDisposableStack): Promise<Deployment> {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-faults-'))
  parts.defer(() => rm(folder, { recursive: true, force: true, maxRetries: 5 }))
  const postgres = await startFaultyPostgres(folder, options.postgresSettings)
  parts.defer(postgres.close)
  const redis = options.queue === 'redis' ? await startFaultyRedis(folder) : undefined
  if (redis !== undefined) parts.defer(redis.close)
  const mail = await startMailServer()
  parts.defer(mail.close)
  const mailNetwork = await startTcpProxy(() => mail.port)
  parts.defer(mailNetwork.close)
  const stored = await startStorage(options.storageFolder ?? join(folder, 'storage'), parts)

  await migrate(postgres.directUrl)
  if (redis === undefined) await migrateQueue({ databaseUrl: postgres.directUrl })
  const database: Connection = connect(postgres.directUrl, { connections: 4 })
  parts.defer(database.close)
  await watchImports(database.db)

  let apiPort = 0
  const apiNetwork = await startTcpProxy(() => apiPort, options.apiPort)
  parts.defer(apiNetwork.close)
  const api = `http://127.0.0.1:${apiNetwork.port}`
  const orderWaitMs = options.orderWaitMs ?? 30_000
  const env = {
    DATABASE_URL: postgres.url,
    ...(redis && { REDIS_URL: redis.url }),
    ...stored.settings,
    SMTP_URL: `smtp://127.0.0.1:${mailNetwork.port}`,
    MAIL_FROM: 'Sluice <no-reply@sluice.test>',
    API_URL: api,
    API_PORT: '0',
    RATE_LIMIT_BULK_IMPORT: '1000000/60s',
    BATCH_ROWS: String(modelSettings.batchRows),
    INFERENCE_ROWS: String(modelSettings.inferenceRows),
    UPLOAD_ORDER_WAIT: `${orderWaitMs}ms`,
    UPLOAD_CHECK_INTERVAL: '200ms',
    ...options.env,
  }
  const log: LogLine[] = []
  const keeper = keepProcesses(log)
  parts.defer(async () => void (await keeper.stop('SIGKILL')))
  const addWorker = (special: Special) =>
    keeper.start('worker', { ...env, ...special.env }, [...memoryLimits.worker, ...(special.nodeOptions ?? [])])
  await Promise.all([
    keeper.start('api', env, [], ({ info }) => {
      apiPort = Number(new URL(String(info.url)).port)
    }),
    ...Array.from({ length: options.workers ?? 2 }, () => addWorker({})),
  ])
  return {
    api,
    db: database.db,
    databaseUrl: postgres.directUrl,
    storage: stored.direct,
    storageSettings: stored.directSettings,
    postgres,
    redis,
    storageNetwork: stored.network,
    storageFaults: stored.faults,
    mail,
    mailNetwork,
    orderWaitMs,
    log,
    workers: () => keeper.running('worker'),
    addWorker,
    apis: () => keeper.running('api'),
    async stopApps() {
      const ends = await keeper.stop('SIGTERM')
      // 1 is a process that ended by itself although something half-open did not let it end in order.
      if (ends.some((end) => end !== 0 && end !== 1)) throw new Error(`processes ended with ${ends.join(', ')}`)
    },
    close: () => parts.disposeAsync(),
  }
}

/** Storage behind a proxy for its own faults, behind one for those of the network. */
async function startStorage(root: string, parts: AsyncDisposableStack) {
  const credentials = { accessKeyId: 'faults', secretAccessKey: 'faults-secret' }
  const endpoint: S3Endpoint = await startS3Endpoint({
    root,
    host: '127.0.0.1',
    port: 0,
    region: 'us-east-1',
    buckets: ['faults'],
    credentials,
    onError: () => {},
  })
  parts.defer(endpoint.close)
  const faults = await startStorageProxy(endpoint.port)
  parts.defer(faults.close)
  const network = await startTcpProxy(() => faults.port)
  parts.defer(network.close)
  const settings = {
    S3_ENDPOINT: throughProxy(endpoint.url, network),
    S3_REGION: 'us-east-1',
    S3_BUCKET: 'faults',
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  }
  const directSettings = { ...settings, S3_ENDPOINT: endpoint.url }
  const direct = openStorage(directSettings)
  parts.defer(direct.close)
  return { faults, network, settings, directSettings, direct }
}

/** Keeps processes running: one that ends, or does not start, is replaced, as any supervisor does. */
function keepProcesses(log: LogLine[]) {
  const running = new Map<AppProcess, 'api' | 'worker'>()
  const keeping: Promise<void>[] = []
  let stopping = false

  async function start(
    app: 'api' | 'worker',
    env: Record<string, string>,
    nodeOptions: readonly string[],
    onReady: (process: AppProcess) => void = () => {},
  ): Promise<AppProcess> {
    const started = await startApp({ app, env, nodeOptions, log: (line) => log.push(line) })
    running.set(started, app)
    onReady(started)
    keeping.push(
      started.exited.then(async () => {
        running.delete(started)
        while (!stopping) {
          await delay(replaceAfter)
          if (stopping) return
          const again = await start(app, env, nodeOptions, onReady).catch(() => undefined)
          if (again !== undefined) return
        }
      }),
    )
    return started
  }

  return {
    start,
    running: (app: 'api' | 'worker') => [...running].filter(([, its]) => its === app).map(([process]) => process),
    async stop(signal: 'SIGTERM' | 'SIGKILL') {
      stopping = true
      const ends: unknown[] = []
      // One that was just starting is found in the next round.
      for (let settled = -1; settled !== keeping.length; ) {
        settled = keeping.length
        for (const process of running.keys()) {
          if (signal === 'SIGKILL') process.kill('SIGCONT')
          process.kill(signal)
          ends.push(await process.exited)
        }
        await Promise.all(keeping)
      }
      return ends
    },
  }
}
