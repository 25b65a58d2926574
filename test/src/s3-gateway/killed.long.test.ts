import { createHash } from 'node:crypto'
import {
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  PutObjectCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { signal } from '../stack/processes.ts'
import { type RunningStack, startStack } from '../stack/running-stack.ts'
import {
  endedImports,
  importsNamed,
  md5Of,
  openBucketOwner,
  openStackStorage,
  presignPut,
  s3ClientOf,
  stackBucket,
} from './bucket-owner.ts'

// A file whose upload was confirmed to the client becomes one import, whichever process is killed.
let stack: RunningStack

beforeAll(async () => {
  stack = await startStack({ env: { IMPORT_LEASE: '2s', S3_GATEWAY_SEARCH_INTERVAL: '1s' } })
})
afterAll(() => stack.stop())

async function kill(app: 's3_gateway' | 'worker'): Promise<void> {
  const [pid = 0] = (await stack.info()).processes[app] ?? []
  expect(pid).toBeGreaterThan(0)
  signal(pid, 'SIGKILL')
}

async function restarted(app: 's3_gateway' | 'worker', before: number): Promise<void> {
  await until(`another ${app}`, async () => {
    const [pid] = (await stack.info()).processes[app] ?? []
    return pid !== undefined && pid !== before
  })
}

test('a multipart upload resumes where it was if the S3 gateway is killed in the middle', async () => {
  const owner = await openBucketOwner(stack, ['alice'])
  const client = s3ClientOf(owner)
  const target = { Bucket: stackBucket, Key: `${owner.path}parts.csv` }
  const first = Buffer.from(`user_id,name\n${'alice,Alice\n'.repeat(500_000)}`)
  const { UploadId } = await client.send(new CreateMultipartUploadCommand(target))
  const part = (PartNumber: number, Body: string | Buffer) => {
    return client.send(new UploadPartCommand({ ...target, UploadId, PartNumber, Body }))
  }
  const one = await part(1, first)
  const [pid = 0] = (await stack.info()).processes.s3_gateway ?? []
  const broken = part(2, first).catch(() => undefined)
  await kill('s3_gateway')
  await broken
  await restarted('s3_gateway', pid)
  const two = await part(2, 'alice,Last\n')
  const MultipartUpload = { Parts: [one, two].map(({ ETag }, index) => ({ PartNumber: index + 1, ETag })) }
  await client.send(new CompleteMultipartUploadCommand({ ...target, UploadId, MultipartUpload }))
  client.destroy()
  expect(await endedImports(stack, owner, 'parts.csv')).toMatchObject([{ state: 'completed', importId: UploadId }])
  const shown = await stack.sluice('user', 'show', '--app', String(owner.appId), 'alice')
  expect(shown.json).toMatchObject({ profiles: { name: { value: 'Last' } } })
})

test('files that alternate at one address become one import each, in order, even if the S3 gateway is killed', async () => {
  const owner = await openBucketOwner(stack, ['alice'])
  const url = await presignPut(owner, 'people.csv')
  const [x, y] = ['X', 'Y'].map((name) => `user_id,name\n${`alice,${name}\n`.repeat(200_000)}`) as [string, string]
  const put = async (body: string) => (await fetch(url, { method: 'PUT', body })).ok
  const uploads = () =>
    stack.db.selectFrom('bucket_uploads').select('import_id').where('app_id', '=', owner.appId).execute()
  const sent = [x, y, x, y]
  for (const [number, body] of sent.entries()) {
    const before = (await uploads()).length
    const [pid = 0] = (await stack.info()).processes.s3_gateway ?? []
    const broken = put(body).catch(() => false)
    // Every other time, the gateway may be killed before its import is inserted, and so before it answers.
    await until('the upload', async () => {
      const { length } = await importsNamed(stack, owner, 'people.csv')
      return length > number || (number % 2 === 0 && (await uploads()).length > before)
    })
    await kill('s3_gateway')
    await broken
    await restarted('s3_gateway', pid)
    await until('an answer', () => put(body).catch(() => false))
    expect(await put(body)).toBe(true)
  }
  const imports = await endedImports(stack, owner, 'people.csv')
  const storage = await openStackStorage(stack)
  const stored = await Promise.all(imports.map(({ objectKey }) => md5Of(storage, objectKey)))
  storage.close()
  expect(stored).toEqual(sent.map((body) => createHash('md5').update(body).digest('hex')))
})

test('a file becomes one import even if the worker is killed right after the file arrived', async () => {
  const owner = await openBucketOwner(stack, ['alice'])
  const client = s3ClientOf(owner)
  const Body = 'user_id,name\nalice,Alice\n'
  for (const name of ['one.csv', 'two.csv', 'three.csv']) {
    await client.send(new PutObjectCommand({ Bucket: stackBucket, Key: `${owner.path}${name}`, Body }))
    const [pid = 0] = (await stack.info()).processes.worker ?? []
    await kill('worker')
    await restarted('worker', pid)
    expect(await endedImports(stack, owner, name)).toMatchObject([{ state: 'completed' }])
  }
  client.destroy()
  for (const name of ['one.csv', 'two.csv', 'three.csv']) {
    expect(await importsNamed(stack, owner, name)).toHaveLength(1)
  }
  const mails = await stack.db.selectFrom('mails').select('mail_id').where('app_id', '=', owner.appId).execute()
  expect(mails).toHaveLength(3)
})
