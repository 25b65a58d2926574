import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { createAccessKey } from '@sluice/access-keys'
import { createApp } from '@sluice/accounts'
import { pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import type { Database } from '@sluice/database'
import { memoryLimits } from '@sluice/local-stack'
import { type RawAnswer, type RawRequest, send } from '@sluice/s3-endpoint/testing'
import { openTestDatabase } from '../environment/database.ts'
import { makeBucket, testStorageSettings } from '../environment/storage.ts'
import { startApp } from '../faults/harness/app-process.ts'
import type { Owner } from './test-gateway.ts'

/** The S3 gateway as a deployment runs it: a process with its memory limits, on real Postgres and its own bucket. */
export interface GatewayProcess {
  url: string
  bucket: string
  db: Database
  pid: number
  openOwner(): Promise<Owner>
  /** Creates another access key of an owner's app. */
  openKey(owner: Owner): Promise<Owner>
  /** Signs a request with the owner's key and sends it. */
  send(owner: Owner, request: RawRequest): Promise<RawAnswer>
  /** Ends the process with SIGTERM. Throws if it has ended before, or if its exit code is not 0. */
  close(): Promise<void>
}

/** Starts a gateway. `env` contains additional settings. */
export async function startGateway(env: Record<string, string> = {}): Promise<GatewayProcess> {
  const bucket = `gateway-${randomBytes(8).toString('hex')}`
  await makeBucket(bucket)
  const database = await openTestDatabase()
  const { db } = database
  const ENCRYPTION_KEYS = randomBytes(32).toString('base64')
  const keys = readSettings({ ENCRYPTION_KEYS }, ['ENCRYPTION_KEYS']).ENCRYPTION_KEYS
  const gateway = await startApp({
    app: 's3-gateway',
    env: {
      DATABASE_URL: database.url,
      ...testStorageSettings(),
      S3_BUCKET: bucket,
      ENCRYPTION_KEYS,
      S3_GATEWAY_PORT: '0',
      ...env,
    },
    nodeOptions: memoryLimits['s3-gateway'],
    log: () => {},
  })
  const { address } = gateway.info as { address: { port: number } }
  const url = `http://127.0.0.1:${address.port}`
  return {
    url,
    bucket,
    db,
    pid: gateway.pid,
    async openOwner() {
      const { appId } = await createApp(db, { name: 'Shop', email: 'ann@example.com' })
      return { appId, path: pathOf(appId), ...(await createAccessKey(db, keys, appId)) }
    },
    openKey: async (owner) => ({ ...owner, ...(await createAccessKey(db, keys, owner.appId)) }),
    send: ({ accessKeyId, secretAccessKey }, request) => send(url, { accessKeyId, secretAccessKey, ...request }),
    async close() {
      gateway.kill('SIGTERM')
      assert.equal(await gateway.exited, 0, 'the gateway did not end as it was told to')
      await database.close()
    },
  }
}
