import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { type Connection, connect, type Database, migrate } from '@sluice/database'
import { memoryLimits, type S3Endpoint, startS3Endpoint } from '@sluice/local-stack'
import { migrateQueue } from '@sluice/queue'
import { openStorage, type Storage, type StorageSettings } from '@sluice/storage'
import { type MailServer, startMailServer } from '../../environment/mail-server.ts'
import { openScratch } from '../../environment/scratch.ts'
import { type AppOptions, type AppProcess, type LogLine, startApp } from './app-process.ts'
import { appSettings } from './app-settings.ts'
import { openFakeClock } from './fake-clock.ts'
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

export interface DeploymentOptions {
  /** Number of worker processes. Defaults to 2. */
  workers?: number
  queue?: 'postgres' | 'redis'
  /** `UPLOAD_ORDER_WAIT`, ms. Defaults to 30 s. */
  orderWaitMs?: number
  postgresSettings?: Readonly<Record<string, string>>
  /** Whether the test sets the clock of Postgres. */
  setsClock?: boolean
  /** Starts a server between the apps and Postgres, such as a pooler. Returns the address for the apps. */
  pooler?: (databaseUrl: string, postgres: FaultyPostgres) => Promise<{ url: string; close(): Promise<void> }>
  env?: Record<string, string>
  nodeOptions?: readonly string[]
  /** Folder for the objects, such as one on a full disk. Defaults to a folder of the deployment. */
  storageFolder?: string
  /** Port of the API's address, to reuse the port of an earlier deployment. Defaults to any free port. */
  apiPort?: number
}

/** The apps as a deployment runs them, with a proxy in front of every server that they use. */
export interface Deployment {
  /** Address of the API. It does not change when the process is replaced. */
  api: string
  /** Bypasses the proxy. Queries fail while Postgres restarts. */
  db: Database
  databaseUrl: string
  storage: Storage
  storageSettings: StorageSettings
  postgres: FaultyPostgres
  redis: FaultyRedis | undefined
  /** Breaks the network between apps and storage. */
  storageNetwork: TcpProxy
  /** Breaks storage itself. */
  storageFaults: StorageProxy
  mail: MailServer
  mailNetwork: TcpProxy
  orderWaitMs: number
  log: LogLine[]
  /** Returns the processes that are running now. A process that ends is replaced. */
  workers(): AppProcess[]
  /** Starts another worker with its own settings or options of Node. */
  addWorker(overrides: ProcessOverrides): Promise<AppProcess>
  /** Starts a server that people or S3 clients use, on any port. */
  addServer(app: 'dashboard' | 's3-gateway'): Promise<AppProcess>
  apis(): AppProcess[]
  /** Ends all processes as a supervisor does. Throws if a process does not end by itself. */
  stopApps(): Promise<void>
  /** Ends everything. Throws if an error that nobody handled ended a process. */
  close(): Promise<void>
}

interface ProcessOverrides {
  env?: Record<string, string>
  nodeOptions?: readonly string[]
  /** A command that runs Node, as in `startApp`. */
  within?: readonly string[]
}

/** Settings that only servers for people and S3 clients need. Nothing follows links to these addresses. */
const serverSettings = {
  DASHBOARD_PORT: '0',
  DASHBOARD_URL: 'http://dashboard.test',
  S3_GATEWAY_PORT: '0',
  S3_GATEWAY_URL: 'http://s3-gateway.test',
}

/** How long after its end a process is replaced, ms. */
const replacementDelayMs = 200

/** Starts all servers, proxies and apps, and waits until they are ready. */
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
  const { path: folder } = parts.use(await openScratch('sluice-faults-'))
  const clock = options.setsClock ? await openFakeClock(folder) : undefined
  const postgres = await startFaultyPostgres(folder, options.postgresSettings, clock)
  parts.defer(postgres.close)
  const redis = options.queue === 'redis' ? await startFaultyRedis(folder) : undefined
  if (redis !== undefined) parts.defer(redis.close)
  const mail = await startMailServer()
  parts.defer(mail.close)
  const mailNetwork = await startTcpProxy(() => mail.port)
  parts.defer(mailNetwork.close)
  const stored = await startStorage(options.storageFolder ?? join(folder, 'storage'), parts)

  const pooler = await options.pooler?.(postgres.url, postgres)
  if (pooler !== undefined) parts.defer(pooler.close)

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
    ...appSettings,
    DATABASE_URL: pooler?.url ?? postgres.url,
    ...(redis && { REDIS_URL: redis.url }),
    ...stored.settings,
    SMTP_URL: `smtp://127.0.0.1:${mailNetwork.port}`,
    API_URL: api,
    API_PORT: '0',
    RATE_LIMIT_BULK_IMPORT: '1000000/60s',
    UPLOAD_ORDER_WAIT: `${orderWaitMs}ms`,
    ...options.env,
  }
  const { nodeOptions = [] } = options
  const log: LogLine[] = []
  const supervisor = superviseProcesses(log)
  parts.defer(async () => void (await supervisor.stop('SIGKILL')))
  const addWorker = (overrides: ProcessOverrides) =>
    supervisor.start('worker', {
      env: { ...env, ...overrides.env },
      nodeOptions: [...memoryLimits.worker, ...nodeOptions, ...(overrides.nodeOptions ?? [])],
      within: overrides.within ?? [],
    })
  await Promise.all([
    supervisor.start('api', { env, nodeOptions, within: [] }, ({ info }) => {
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
    workers: () => supervisor.running('worker'),
    addWorker,
    addServer: (app) =>
      supervisor.start(app, {
        env: { ...env, ...serverSettings },
        nodeOptions: [...(app === 's3-gateway' ? memoryLimits['s3-gateway'] : []), ...nodeOptions],
        within: [],
      }),
    apis: () => supervisor.running('api'),
    async stopApps() {
      const ends = await supervisor.stop('SIGTERM')
      // A half-open connection may prevent a clean end: the process then exits by itself with code 1.
      if (ends.some((end) => end !== 0 && end !== 1)) throw new Error(`processes ended with ${ends.join(', ')}`)
    },
    async close() {
      await parts.disposeAsync()
      // A process that ends so is replaced, and most tests would not notice.
      const crash = log.find(({ msg }) => msg === 'uncaughtException' || msg === 'unhandledRejection')
      if (crash !== undefined) throw new Error(`a process ended by an error: ${JSON.stringify(crash)}`)
    },
  }
}

/** Starts storage behind two proxies: the inner one injects faults of storage, the outer one faults of the network. */
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

/** Supervises processes: replaces every process that ends or fails to start. */
function superviseProcesses(log: LogLine[]) {
  const running = new Map<AppProcess, AppOptions['app']>()
  const supervising: Promise<void>[] = []
  let stopping = false

  async function start(
    app: AppOptions['app'],
    options: Required<ProcessOverrides>,
    onReady: (process: AppProcess) => void = () => {},
  ): Promise<AppProcess> {
    const started = await startApp({ app, ...options, log: (line) => log.push(line) })
    running.set(started, app)
    onReady(started)
    supervising.push(
      started.exited.then(async () => {
        running.delete(started)
        while (!stopping) {
          await delay(replacementDelayMs)
          if (stopping) return
          const again = await start(app, options, onReady).catch(() => undefined)
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
      // Repeats the round, because a process may have been starting during the last one.
      for (let settled = -1; settled !== supervising.length; ) {
        settled = supervising.length
        for (const process of running.keys()) {
          if (signal === 'SIGKILL') process.kill('SIGCONT')
          process.kill(signal)
          ends.push(await process.exited)
        }
        await Promise.all(supervising)
      }
      return ends
    },
  }
}
