import { randomBytes } from 'node:crypto'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { startS3Endpoint } from '@sluice/s3-endpoint'
import { startInbox } from '../inbox/start.ts'
import { startPostgres } from '../postgres/start.ts'
import { readIfThere } from '../read-if-there.ts'
import type { WantedPort } from './choose-ports.ts'
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
  const credentials = await storageCredentials(join(home, 'storage-credentials.json'))
  const region = env.S3_REGION || 'us-east-1'
  const bucket = env.S3_BUCKET || 'sluice'
  const port = portOf(ports, 'STORAGE_PORT')
  const root = join(home, 'storage')
  const storage = await startS3Endpoint({
    ...{ root, host: HOST, port, credentials, region, buckets: [bucket] },
    onError: (error, { method, path }) => log(`storage: ${method} ${path} failed: ${error}`),
  })
  parts.defer(() => storage.close())
  return {
    S3_ENDPOINT: storage.url,
    S3_REGION: region,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY_ID: credentials.accessKeyId,
    S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
  }
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

/** The access key of the embedded storage: made once, and kept in a file that only its owner reads. */
async function storageCredentials(path: string): Promise<{ accessKeyId: string; secretAccessKey: string }> {
  const kept = await readIfThere(path)
  if (kept !== undefined) {
    const { accessKeyId, secretAccessKey } = JSON.parse(kept)
    if (typeof accessKeyId === 'string' && typeof secretAccessKey === 'string') return { accessKeyId, secretAccessKey }
    throw new Error(`${path} holds no access key: remove it to have a new one made`)
  }
  const credentials = {
    accessKeyId: `SLUICE${randomBytes(7).toString('hex').toUpperCase()}`,
    secretAccessKey: randomBytes(30).toString('hex'),
  }
  await writeFile(`${path}.part`, JSON.stringify(credentials), { mode: 0o600, flush: true })
  await rename(`${path}.part`, path)
  return credentials
}

function portOf(ports: ReadonlyMap<string, number>, setting: string): number {
  const port = ports.get(setting)
  if (port === undefined) throw new Error(`no port was chosen for ${setting}`)
  return port
}
