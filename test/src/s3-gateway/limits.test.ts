import {
  AbortMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  type S3Client,
  S3ServiceException,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { importUnannouncedFiles } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import { limits } from '@sluice/contract'
import { sql } from '@sluice/database'
import { bucketLimitSettings, openBucketLimiter } from '@sluice/s3-gateway/src/limits.ts'
import { pino } from 'pino'
import { describe, expect, onTestFinished, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { testStorageSettings } from '../environment/storage.ts'
import { until } from '../environment/wait.ts'
import { startStorageProxy } from '../faults/harness/storage-proxy.ts'
import { type Owner, openTestGateway, type TestGateway } from './test-gateway.ts'

// Limits on how much of the bucket and of the workers one app can use.
const csv = Buffer.from('user_id,n\nu1,1\n')

async function open(...options: Parameters<typeof openTestGateway>): Promise<{ gateway: TestGateway; owner: Owner }> {
  const gateway = await openTestGateway(...options)
  onTestFinished(() => gateway.close())
  return { gateway, owner: await gateway.openOwner() }
}

/** Creates a client that does not retry. */
function clientOf(gateway: TestGateway, owner: Owner): S3Client {
  return gateway.clientOf(owner, { maxAttempts: 1 })
}

async function refusalOf(request: Promise<unknown>): Promise<{ code: string; status: number | undefined } | undefined> {
  return await request.then(
    () => undefined,
    (error: unknown) => {
      if (!(error instanceof S3ServiceException)) throw error
      return { code: error.name, status: error.$metadata.httpStatusCode }
    },
  )
}

const slowDown = { code: 'SlowDown', status: 503 }

// design.md §3, Waiting imports.
describe('WAITING_IMPORTS_LIMIT', () => {
  test('holds for simultaneous uploads, whole and in parts, and does not affect other apps', async () => {
    const { gateway, owner } = await open({ WAITING_IMPORTS_LIMIT: '5' })
    const client = clientOf(gateway, owner)
    const begin = async (number: number) => {
      const named = { Bucket: gateway.bucket, Key: `${owner.path}${number}.csv` }
      return await refusalOf(
        number % 2 === 0
          ? client.send(new PutObjectCommand({ ...named, Body: csv }))
          : client.send(new CreateMultipartUploadCommand(named)),
      )
    }
    const refusals = await Promise.all(Array.from({ length: 20 }, (_, number) => begin(number)))
    expect(refusals.filter((refusal) => refusal === undefined)).toHaveLength(5)
    expect(refusals.filter((refusal) => refusal !== undefined)).toEqual(Array.from({ length: 15 }, () => slowDown))
    const { rows } = await sql`
      select from imports where app_id = ${owner.appId} union all select from bucket_uploads where app_id = ${owner.appId}
    `.execute(gateway.db)
    expect(rows).toHaveLength(5)
    const other = await gateway.openOwner()
    const put = new PutObjectCommand({ Bucket: gateway.bucket, Key: `${other.path}a.csv`, Body: csv })
    expect(await refusalOf(clientOf(gateway, other).send(put))).toBeUndefined()
  })

  test('is reported with Retry-After, and accepts an upload again after an import has ended', async () => {
    const { gateway, owner } = await open({ WAITING_IMPORTS_LIMIT: '1' })
    const put = (name: string) =>
      gateway.send(owner, { method: 'PUT', path: `/${gateway.bucket}/${owner.path}${name}`, body: csv })
    expect((await put('a.csv')).status).toBe(200)
    const refused = await put('b.csv')
    expect(refused.status).toBe(503)
    expect(refused.headers['retry-after']).toBe('60')
    expect(refused.text).toContain('1 imports of this app wait already. Please try again in 60 seconds.')
    await sql`update imports set state = 'completed', finished_at = now()`.execute(gateway.db)
    expect((await put('b.csv')).status).toBe(200)
  })

  test('does not count uploads that storage refused, whole, in parts or aborted, although it removed nothing', async () => {
    const { S3_ENDPOINT } = testStorageSettings()
    const proxy = await startStorageProxy(Number(new URL(S3_ENDPOINT).port))
    onTestFinished(proxy.close)
    const { gateway, owner } = await open({
      WAITING_IMPORTS_LIMIT: '1',
      S3_ENDPOINT: `http://127.0.0.1:${proxy.port}`,
    })
    const client = clientOf(gateway, owner)
    const named = { Bucket: gateway.bucket, Key: `${owner.path}a.csv` }
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(named))
    proxy.set(() => ({ kind: 'answer', status: 503, code: 'ServiceUnavailable' }))
    expect(await refusalOf(client.send(new AbortMultipartUploadCommand({ ...named, UploadId })))).toBeUndefined()
    for (const request of [new PutObjectCommand({ ...named, Body: csv }), new CreateMultipartUploadCommand(named)]) {
      const { rows: before } = await sql`select from bucket_uploads`.execute(gateway.db)
      expect(before).toHaveLength(0)
      expect((await refusalOf(client.send(request)))?.status).toBeGreaterThanOrEqual(500)
    }
    const { rows } = await sql`select from file_sweeps where app_id = ${owner.appId}`.execute(gateway.db)
    expect(rows, 'bytes that storage may have of the three uploads').toHaveLength(3)
    proxy.set(undefined)
    expect(await refusalOf(client.send(new PutObjectCommand({ ...named, Body: csv })))).toBeUndefined()
  })

  test('leaves an unannounced file in its place until an import ends, without counting a failure', async () => {
    const { gateway, owner } = await open({ WAITING_IMPORTS_LIMIT: '1' })
    const { storage } = gateway.maintenance
    for (const name of ['a.csv', 'b.csv']) await storage.write(`${owner.path}${name}`, csv, 'text/csv')
    const taken = async () => {
      await importUnannouncedFiles(gateway.maintenance)
      return (await gateway.importsOf(owner)).length
    }
    while ((await taken()) < 1);
    expect(await taken()).toBe(1)
    expect(await gateway.db.selectFrom('unannounced_file_failures').selectAll().execute()).toEqual([])
    await sql`update imports set state = 'completed', finished_at = now()`.execute(gateway.db)
    expect(await taken()).toBe(2)
  })
})

// design.md §3, Waiting imports.
test('RATE_LIMIT_BUCKET_IMPORT counts the uploads that an app begins, but not their parts', async () => {
  const settings = readSettings({ RATE_LIMIT_BUCKET_IMPORT: '3/1h', RATE_LIMIT_TIMEOUT: '1m' }, bucketLimitSettings)
  const { gateway, owner } = await open({}, (databaseUrl) =>
    openBucketLimiter({ databaseUrl }, settings, pino({ level: 'silent' })),
  )
  const client = clientOf(gateway, owner)
  const named = (name: string) => ({ Bucket: gateway.bucket, Key: `${owner.path}${name}` })
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(named('parts.csv')))
  for (let PartNumber = 1; PartNumber < 5; PartNumber++)
    await client.send(new UploadPartCommand({ ...named('parts.csv'), UploadId, PartNumber, Body: csv }))
  const put = (name: string) => refusalOf(client.send(new PutObjectCommand({ ...named(name), Body: csv })))
  expect([await put('a.csv'), await put('b.csv'), await put('c.csv')]).toEqual([undefined, undefined, slowDown])
  const create = client.send(new CreateMultipartUploadCommand(named('more.csv')))
  expect(await refusalOf(create)).toEqual(slowDown)
})

describe('the parts of an upload', () => {
  test('are refused as soon as their total exceeds the limit of a file, before they are read', async () => {
    const { gateway, owner } = await open()
    const client = clientOf(gateway, owner)
    const named = { Bucket: gateway.bucket, Key: `${owner.path}parts.csv` }
    const { UploadId } = await client.send(new CreateMultipartUploadCommand(named))
    const put = (PartNumber: number) =>
      refusalOf(client.send(new UploadPartCommand({ ...named, UploadId, PartNumber, Body: csv })))
    expect(await put(1)).toBeUndefined()
    // Simulates stored parts of nearly the maximum size.
    await sql`update bucket_uploads set part_bytes = ${limits.bucketBytes - csv.length}::bigint`.execute(gateway.db)
    // A part that is sent again replaces the former part.
    expect([await put(1), await put(1), await put(2)]).toEqual([undefined, undefined, undefined])
    expect(await put(3)).toEqual({ code: 'EntityTooLarge', status: 400 })
    // Simultaneous parts: only two of them get the remaining space. They all begin before the first of them ends.
    await sql`update bucket_uploads set part_bytes = ${limits.bucketBytes - 2 * csv.length}::bigint`.execute(gateway.db)
    const atOnce: ReturnType<typeof put>[] = []
    await gateway.db.transaction().execute(async (tx) => {
      await sql`select from bucket_uploads for update`.execute(tx)
      atOnce.push(...[4, 5, 6, 7, 8].map(put))
      await until('five waiting parts', async () => (await lockWaits(gateway.db)).length === 5)
    })
    const refusals = await Promise.all(atOnce)
    expect(refusals.filter((refusal) => refusal === undefined)).toHaveLength(2)
    const kept = await gateway.db.selectFrom('bucket_upload_parts').select('part_number').execute()
    expect(kept).toHaveLength(4)
  })
})
