import { randomBytes } from 'node:crypto'
import { PutObjectCommand, S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { getSignedUrl } from '@aws-sdk/s3-request-presigner'
import { createAccessKey } from '@sluice/access-keys'
import { createApp } from '@sluice/accounts'
import { type MaintenanceContext, pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import type { ImportView } from '@sluice/contract'
import type { Database } from '@sluice/database'
import { pageOfImports } from '@sluice/imports'
import type { AppLimiter } from '@sluice/rate-limits'
import { type RawAnswer, type RawRequest, send } from '@sluice/s3-endpoint/testing'
import { createGateway, gatewaySettings } from '@sluice/s3-gateway/src/server.ts'
import { openStorage, type Storage, storageSettings } from '@sluice/storage'
import { pino } from 'pino'
import { openTestDatabase } from '../environment/database.ts'
import { listenOn } from '../environment/free-port.ts'
import { openBeforeAll, openBeforeEach } from '../environment/opened.ts'
import { makeBucket, testStorageSettings } from '../environment/storage.ts'

/** An app with access to its path in the bucket. */
export interface Owner {
  appId: number
  path: string
  accessKeyId: string
  secretAccessKey: string
}

/** The S3 gateway in this process, on real Postgres and its own bucket. */
export interface TestGateway {
  url: string
  bucket: string
  db: Database
  /** Context for maintenance functions. Its storage accesses the bucket without the S3 gateway. */
  maintenance: MaintenanceContext
  /** Sets the clock by which the gateway checks signatures to this many milliseconds ahead of the real time. */
  moveClock(by: number): void
  openOwner(): Promise<Owner>
  /** Creates a client of the AWS SDK with default settings that `config` overrides. */
  clientOf(owner: Owner, config?: S3ClientConfig): S3Client
  /** Returns a pre-signed address for PUTs to a key, valid for `expiresIn` seconds. */
  presignPut(owner: Owner, key: string, expiresIn: number): Promise<string>
  /** Signs a request with the owner's key and sends it. */
  send(owner: Owner, request: RawRequest): Promise<RawAnswer>
  /** Returns the imports of an app, newest first. */
  importsOf(owner: Owner): Promise<ImportView[]>
  close(): Promise<void>
}

/**
 * Opens an S3 gateway. `environment` contains settings. Rates are unlimited unless a `limiter` is passed. `wrap`
 * changes what the gateway sees of storage.
 */
export async function openTestGateway(
  environment: Record<string, string> = {},
  openLimiter?: (databaseUrl: string) => Promise<AppLimiter>,
  wrap: (storage: Storage) => Storage = (storage) => storage,
): Promise<TestGateway> {
  const bucket = `gateway-${randomBytes(8).toString('hex')}`
  const settings = readSettings(
    {
      ...testStorageSettings(),
      S3_BUCKET: bucket,
      ENCRYPTION_KEYS: randomBytes(32).toString('base64'),
      ...environment,
    },
    [...gatewaySettings, ...storageSettings, 'FILE_RETENTION_DAYS'],
  )
  await makeBucket(bucket)
  const database = await openTestDatabase()
  const { db } = database
  const storage = openStorage(settings)
  const log = pino({ level: 'silent' })
  let ahead = 0
  const limiter = await openLimiter?.(database.url)
  const server = createGateway(
    { db, storage: wrap(storage), log, ...(limiter && { limiter }) },
    settings,
    () => new Date(Date.now() + ahead),
  )
  const url = `http://127.0.0.1:${await listenOn(server.http)}`
  const clients: S3Client[] = []
  const clientOf = (credentials: Owner, config: S3ClientConfig = {}) => {
    const client = new S3Client({
      endpoint: url,
      region: settings.S3_REGION,
      credentials,
      forcePathStyle: true,
      ...config,
    })
    clients.push(client)
    return client
  }

  return {
    url,
    bucket,
    db,
    maintenance: { db, storage, log, settings },
    moveClock(by) {
      ahead = by
    },
    async openOwner() {
      const { appId } = await createApp(db, { name: 'Shop', email: 'ann@example.com' })
      return { appId, path: pathOf(appId), ...(await createAccessKey(db, settings.ENCRYPTION_KEYS, appId)) }
    },
    clientOf,
    presignPut(owner, Key, expiresIn) {
      // Otherwise the SDK signs the checksum of an empty body.
      const client = clientOf(owner, { requestChecksumCalculation: 'WHEN_REQUIRED' })
      return getSignedUrl(client, new PutObjectCommand({ Bucket: bucket, Key }), { expiresIn })
    },
    send: ({ accessKeyId, secretAccessKey }, request) => send(url, { accessKeyId, secretAccessKey, ...request }),
    importsOf: async ({ appId }) => (await pageOfImports(db, undefined, appId, { limit: 100 })).imports,
    async close() {
      for (const client of clients) client.destroy()
      server.http.close()
      server.http.closeAllConnections()
      await server.idle()
      await limiter?.close()
      storage.close()
      await database.close()
    },
  }
}

/** Opens a gateway for a file, and an app before each test. The owner always is that of the current test. */
export function eachWithOwner(): { gateway: TestGateway; owner: Owner } {
  const gateway = openBeforeAll(openTestGateway)
  const owner = openBeforeEach(() => gateway.openOwner())
  return { gateway, owner }
}
