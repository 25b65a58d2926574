import { join } from 'node:path'
import { startS3Endpoint } from '@sluice/s3-endpoint'
import { startInbox } from '../inbox/start.ts'
import { startPostgres } from '../postgres/start.ts'
import type { WantedPort } from './choose-ports.ts'
import { embeddedStorageAccess } from './embedded-storage.ts'
import { keepRunning } from './keep-running.ts'
import { type Environment, portSetting } from './settings.ts'

/** The embedded parts listen for this machine only. */
const HOST = '127.0.0.1'

/** What {@link startEmbeddedParts} takes. */
export interface EmbeddedPartsOptions {
  home: string
  env: Environment
  /** The port of each setting in {@link embeddedPorts}. */
  ports: ReadonlyMap<string, number>
  /** Takes what has to be ended at last; what comes last ends first. */
  parts: AsyncDisposableStack
  log(line: string): void
  /** Gives the start up. */
  signal: AbortSignal
}

/** The ports that the embedded parts need: those of a part that the environment names are left out (design.md §2). */
export function embeddedPorts(env: Environment): WantedPort[] {
  const wanted = (setting: string, fallback: number) => ({
    setting,
    host: HOST,
    port: portSetting(env, setting, fallback),
  })
  return [
    ...(env.S3_ENDPOINT ? [] : [wanted('STORAGE_PORT', 3002)]),
    ...(env.SMTP_URL ? [] : [wanted('INBOX_PORT', 3003), wanted('SMTP_PORT', 3004)]),
    ...(env.DATABASE_URL ? [] : [wanted('POSTGRES_PORT', 3005)]),
  ]
}

/**
 * Starts the parts that the environment doesn't name.
 *
 * Gives the settings that lead the apps to them, and the address of the inbox where there is one.
 */
export async function startEmbeddedParts(
  options: EmbeddedPartsOptions,
): Promise<{ settings: Record<string, string>; inbox: string | undefined }> {
  const { env } = options
  const database = env.DATABASE_URL ? {} : await embedPostgres(options)
  const storage = env.S3_ENDPOINT ? {} : await embedStorage(options)
  const inbox = env.SMTP_URL ? undefined : await embedInbox(options)
  return {
    settings: { ...database, ...storage, ...(inbox && { SMTP_URL: inbox.smtpUrl }) },
    inbox: inbox?.url,
  }
}

async function embedPostgres({ home, ports, parts, log, signal }: EmbeddedPartsOptions) {
  let url = ''
  const kept = await keepRunning({
    name: 'Postgres',
    log,
    signal,
    async start() {
      const postgres = await startPostgres({
        dataDirectory: join(home, 'postgres'),
        port: portOf(ports, 'POSTGRES_PORT'),
      })
      url = postgres.url
      return postgres
    },
  })
  parts.defer(kept.stop)
  return { DATABASE_URL: url }
}

async function embedStorage({ home, env, ports, parts, log }: EmbeddedPartsOptions) {
  const access = await embeddedStorageAccess(home, env)
  const storage = await startS3Endpoint({
    root: join(home, 'storage'),
    host: HOST,
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
    host: HOST,
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
