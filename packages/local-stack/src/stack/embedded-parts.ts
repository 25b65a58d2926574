import { join } from 'node:path'
import { startInbox } from '../inbox/start.ts'
import { settingsFor, thisMachine } from '../postgres/machine-settings.ts'
import { startPostgres } from '../postgres/start.ts'
import { startS3Endpoint } from '../storage/start.ts'
import type { WantedPort } from './choose-ports.ts'
import { embeddedStorageAccess } from './embedded-storage.ts'
import { keepRunning } from './keep-running.ts'
import { type Environment, portSetting } from './settings.ts'

/** The embedded parts listen for this machine only. */
const loopback = '127.0.0.1'

/** Options of {@link startEmbeddedParts}. */
export interface EmbeddedPartsOptions {
  home: string
  env: Environment
  /** The port of each setting in {@link embeddedPorts}. */
  ports: ReadonlyMap<string, number>
  /** Collects the stop functions of the parts. The part that was started last stops first. */
  parts: AsyncDisposableStack
  log(line: string): void
  /** Aborts the start. */
  signal: AbortSignal
}

/**
 * Returns the ports of the embedded parts. A part that the environment configures is not embedded
 * (design.md §2, Embedded parts; design.md §2, Ports).
 */
export function embeddedPorts(env: Environment): WantedPort[] {
  const wanted = (setting: string, fallback: number) => ({
    setting,
    host: loopback,
    port: portSetting(env, setting, fallback),
  })
  return [
    ...(env.S3_ENDPOINT ? [] : [wanted('STORAGE_PORT', 3002)]),
    ...(env.SMTP_URL ? [] : [wanted('INBOX_PORT', 3003), wanted('SMTP_PORT', 3004)]),
    ...(env.DATABASE_URL ? [] : [wanted('POSTGRES_PORT', 3005)]),
  ]
}

/**
 * Starts the parts that the environment does not configure.
 *
 * Returns the settings by which the apps find the parts, and the URL of the inbox if it was started.
 */
export async function startEmbeddedParts(
  options: EmbeddedPartsOptions,
): Promise<{ settings: Record<string, string>; inbox: string | undefined }> {
  const { env } = options
  const database = env.DATABASE_URL ? {} : await embedPostgres(options)
  const storage = env.S3_ENDPOINT ? {} : await embedStorage(options)
  const inbox = env.SMTP_URL ? undefined : await embedInbox(options)
  return {
    settings: { ...database, ...storage, ...(inbox && { SMTP_URL: inbox.smtpUrl, INBOX_URL: inbox.url }) },
    inbox: inbox?.url,
  }
}

async function embedPostgres({ home, ports, parts, log, signal }: EmbeddedPartsOptions) {
  let url = ''
  const supervisor = await keepRunning({
    name: 'Postgres',
    log,
    signal,
    async start() {
      const postgres = await startPostgres({
        dataDirectory: join(home, 'postgres'),
        port: portOf(ports, 'POSTGRES_PORT'),
        settings: settingsFor(await thisMachine(home)),
      })
      url = postgres.url
      return postgres
    },
  })
  parts.defer(supervisor.stop)
  return { DATABASE_URL: url }
}

async function embedStorage({ home, env, ports, parts, log }: EmbeddedPartsOptions) {
  const access = await embeddedStorageAccess(home, env)
  const storage = await startS3Endpoint({
    root: join(home, 'storage'),
    host: loopback,
    port: portOf(ports, 'STORAGE_PORT'),
    credentials: { accessKeyId: access.S3_ACCESS_KEY_ID, secretAccessKey: access.S3_SECRET_ACCESS_KEY },
    region: access.S3_REGION,
    buckets: [access.S3_BUCKET],
    onError: (error, { method, path }) => log(`storage: ${method} ${path} failed: ${error}`),
  })
  parts.defer(() => storage.close())
  return { S3_ENDPOINT: storage.url, ...access }
}

async function embedInbox({ home, ports, parts }: EmbeddedPartsOptions) {
  const inbox = await startInbox({
    host: loopback,
    httpPort: portOf(ports, 'INBOX_PORT'),
    smtpPort: portOf(ports, 'SMTP_PORT'),
    folder: join(home, 'mails'),
  })
  parts.defer(() => inbox.close())
  return inbox
}

function portOf(ports: ReadonlyMap<string, number>, setting: string): number {
  const port = ports.get(setting)
  if (port === undefined) throw new Error(`no port was chosen for ${setting}`)
  return port
}
