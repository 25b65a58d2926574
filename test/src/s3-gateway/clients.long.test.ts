import { createHash, randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { HeadObjectCommand, ListObjectsV2Command, PutObjectCommand } from '@aws-sdk/client-s3'
import { Upload } from '@aws-sdk/lib-storage'
import { placeholders, uploadCommands } from '@sluice/dashboard-app/src/credentials/upload-commands.ts'
import { runProgram, testWith } from '@sluice/s3-endpoint/testing'
import type { Storage } from '@sluice/storage'
import { Client } from 'minio'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { peakMemory } from '../memory/peak-memory.ts'
import { type RunningStack, startStack } from '../stack/running-stack.ts'
import {
  type BucketOwner,
  endedImports,
  importsNamed,
  md5Of,
  openBucketOwner,
  openStackStorage,
  s3ClientOf,
  stackBucket,
} from './bucket-owner.ts'

// Common S3 programs upload files to the stack of `npm start`, and these files become imports.
let stack: RunningStack
let storage: Storage
let folder: string
let owner: BucketOwner

/**
 * Contents of a file of about 1 KB that is applied, and of a file of 20 MB that is refused: only its transfer matters.
 */
const small = Buffer.from(
  `user_id,name\n${Array.from({ length: 50 }, (_, n) => `alice,Alice ${n} of many\n`).join('')}`,
)
const large = randomBytes(20_000_000)

beforeAll(async () => {
  stack = await startStack({ env: { S3_GATEWAY_SEARCH_INTERVAL: '1s' } })
  storage = await openStackStorage(stack)
  folder = await mkdtemp(join(tmpdir(), 'sluice-clients-'))
  await writeFile(join(folder, 'small.csv'), small)
  await writeFile(join(folder, 'large.csv'), large)
})
afterAll(async () => {
  storage.close()
  await rm(folder, { recursive: true, force: true })
  await stack.stop()
})
beforeEach(async () => {
  owner = await openBucketOwner(stack, ['alice'])
})

/** Expects that both files have arrived unchanged, and that each is one import. */
async function expectBothImported(): Promise<void> {
  const [first, ...second] = await endedImports(stack, owner, 'small.csv')
  expect([first, second]).toMatchObject([{ state: 'completed', byteSize: small.length }, []])
  const [third, ...fourth] = await endedImports(stack, owner, 'large.csv')
  expect([third, fourth]).toMatchObject([{ state: 'failed', byteSize: large.length }, []])
  expect(await md5Of(storage, third?.objectKey ?? '')).toBe(createHash('md5').update(large).digest('hex'))
}

describe('with their default settings', () => {
  testWith('s3cmd', 's3cmd uploads and lists', async (s3cmd) => {
    const { host } = new URL(owner.gateway)
    const config = join(folder, 's3cfg')
    await writeFile(
      config,
      `[default]\naccess_key = ${owner.accessKeyId}\nsecret_key = ${owner.secretAccessKey}\n` +
        `host_base = ${host}\nhost_bucket = ${host}\nuse_https = False\n`,
    )
    const run = (...args: string[]) => runProgram(s3cmd, ['-c', config, '--no-progress', ...args])
    const path = `s3://${stackBucket}/${owner.path}`
    await run('put', join(folder, 'small.csv'), join(folder, 'large.csv'), path)
    const listed = await run('ls', path)
    expect(listed).toContain(`${path}small.csv`)
    expect(listed).toContain(`${large.length}  ${path}large.csv`)
    await expect(run('put', join(folder, 'small.csv'), `${path}a b.csv`)).rejects.toThrow('white space')
    await expectBothImported()
  })

  testWith('rclone', 'rclone copies and lists, and does not copy an existing file again', async (rclone) => {
    const environment = {
      RCLONE_CONFIG: join(folder, 'rclone.conf'),
      RCLONE_CONFIG_STORE_TYPE: 's3',
      RCLONE_CONFIG_STORE_PROVIDER: 'Other',
      RCLONE_CONFIG_STORE_ENDPOINT: owner.gateway,
      RCLONE_CONFIG_STORE_ACCESS_KEY_ID: owner.accessKeyId,
      RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY: owner.secretAccessKey,
    }
    const run = (...args: string[]) => runProgram(rclone, args, environment)
    const path = `store:${stackBucket}/${owner.path}`
    const copy = () =>
      run('copy', '--s3-upload-cutoff', '6M', '--s3-chunk-size', '6M', '--include', '*.csv', folder, path)
    await copy()
    expect((await run('lsf', path)).trim().split('\n')).toEqual(['large.csv', 'small.csv'])
    await copy()
    await expectBothImported()
  })

  testWith('aws', 'the AWS command line copies and lists', async (aws) => {
    const environment = {
      AWS_CONFIG_FILE: join(folder, 'no-config'),
      AWS_ACCESS_KEY_ID: owner.accessKeyId,
      AWS_SECRET_ACCESS_KEY: owner.secretAccessKey,
      AWS_DEFAULT_REGION: 'us-east-1',
      AWS_EC2_METADATA_DISABLED: 'true',
    }
    const run = (...args: string[]) => runProgram(aws, ['--endpoint-url', owner.gateway, 's3', ...args], environment)
    const path = `s3://${stackBucket}/${owner.path}`
    await run('cp', '--no-progress', join(folder, 'small.csv'), path)
    await run('cp', '--no-progress', join(folder, 'large.csv'), path)
    expect(await run('ls', path)).toContain(`${large.length} large.csv`)
    await expect(run('rm', `${path}small.csv`)).rejects.toThrow('has become an import')
    await expectBothImported()
  })

  test('minio uploads whole files and parts, resumes an upload that broke off, and lists', async () => {
    const { hostname, port } = new URL(owner.gateway)
    const { accessKeyId: accessKey, secretAccessKey: secretKey } = owner
    const minio = new Client({ endPoint: hostname, port: Number(port), useSSL: false, accessKey, secretKey })
    // minio uploads larger files in parts.
    const partBytes = 64 * 2 ** 20
    const huge = randomBytes(partBytes + 1000)
    await writeFile(join(folder, 'huge.csv'), huge)
    const objectName = `${owner.path}huge.csv`
    const uploadID = await minio.initiateNewMultipartUpload(stackBucket, objectName, {})
    const part = { bucketName: stackBucket, objectName, uploadID, partNumber: 1, headers: {} }
    await minio.uploadPart(part, huge.subarray(0, partBytes))
    expect(await minio.listIncompleteUploads(stackBucket, owner.path, true).toArray()).toMatchObject([
      { key: objectName, size: partBytes },
    ])

    await minio.fPutObject(stackBucket, objectName, join(folder, 'huge.csv'))
    await minio.fPutObject(stackBucket, `${owner.path}small.csv`, join(folder, 'small.csv'))
    const listed = await minio.listObjectsV2(stackBucket, owner.path, true).toArray()
    expect(listed.map(({ name }) => name)).toEqual([objectName, `${owner.path}small.csv`])
    expect(await minio.listIncompleteUploads(stackBucket, owner.path, true).toArray()).toEqual([])
    expect(await endedImports(stack, owner, 'small.csv')).toMatchObject([{ state: 'completed' }])
    const [only, ...others] = await endedImports(stack, owner, 'huge.csv')
    expect([only, others]).toMatchObject([{ importId: uploadID, byteSize: huge.length }, []])
    expect(await md5Of(storage, only?.objectKey ?? '')).toBe(createHash('md5').update(huge).digest('hex'))
  })

  test('the AWS SDK uploads whole files and parts, and lists', async () => {
    const client = s3ClientOf(owner)
    const target = (name: string) => ({ Bucket: stackBucket, Key: `${owner.path}${name}` })
    await client.send(new PutObjectCommand({ ...target('small.csv'), Body: small }))
    await new Upload({ client, params: { ...target('large.csv'), Body: large } }).done()
    const { Contents = [] } = await client.send(new ListObjectsV2Command({ Bucket: stackBucket, Prefix: owner.path }))
    expect(Contents.map(({ Key }) => Key)).toEqual([`${owner.path}large.csv`, `${owner.path}small.csv`])
    client.destroy()
    await expectBothImported()
  })
})

describe('the command that the dashboard shows', () => {
  const address = () => {
    return { endpoint: owner.gateway, bucket: stackBucket, path: owner.path, region: 'us-east-1' }
  }

  for (const { program } of uploadCommands({ endpoint: 'http://x', bucket: '', path: '', region: '' }, placeholders)) {
    testWith(program, `for ${program} uploads a file`, async () => {
      const command = uploadCommands(address(), owner).find((one) => one.program === program)?.command
      await writeFile(join(folder, 'people.csv'), small)
      await runProgram('/bin/sh', ['-c', `cd '${folder}' && ${command}`], { HOME: folder })
      expect(await endedImports(stack, owner, 'people.csv')).toMatchObject([{ state: 'completed' }])
    })
  }
})

test('a file of 1 GiB is uploaded in parts at 64 MiB/s at most, and the memory of the S3 gateway stays bounded', {
  timeout: 240_000,
}, async () => {
  const client = s3ClientOf(owner)
  const megabyte = randomBytes(2 ** 20)
  const target = { Bucket: stackBucket, Key: `${owner.path}huge.csv` }
  const params = { ...target, Body: Readable.from(Array.from({ length: 1024 }, () => megabyte)) }
  const began = performance.now()
  await new Upload({ client, params, partSize: 16 * 2 ** 20 }).done()
  // The first 8 MiB do not wait.
  expect(performance.now() - began).toBeGreaterThan(((1_024 - 8) / 64) * 1_000)
  expect(await client.send(new HeadObjectCommand(target))).toMatchObject({ ContentLength: 2 ** 30 })
  client.destroy()
  expect(await importsNamed(stack, owner, 'huge.csv')).toMatchObject([{ byteSize: 2 ** 30 }])
  const [pid = 0] = (await stack.info()).processes.s3_gateway ?? []
  expect(await peakMemory(pid)).toBeLessThan(200_000_000)
})

test('an unannounced file becomes an import, or is reported by mail if it breaks the rules', async () => {
  await storage.write(`${owner.path}straight.csv`, small, 'text/csv')
  await storage.write(`${owner.path}not straight.csv`, small, 'text/csv')
  expect(await endedImports(stack, owner, 'straight.csv')).toMatchObject([{ state: 'completed' }])
  const mails = await until('both mails', async () => {
    const sent = await stack.mailsTo(owner.email)
    return sent.length >= 2 && sent
  })
  const refused = mails.find(({ subject }) => subject.startsWith('File not imported · '))
  expect(refused?.text).toContain('the file name must contain no white space')
  expect(await importsNamed(stack, owner, 'not straight.csv')).toEqual([])
})

describe('on the command line', () => {
  const key = (...args: string[]) => stack.sluice('key', ...args)

  test('keys are listed with their last use, and a deleted key stops working at once', async () => {
    const app = String(owner.appId)
    const second = await key('create', '--app', app)
    expect(second.json).toEqual({ access_key_id: expect.any(String), secret_access_key: expect.any(String) })
    const client = s3ClientOf(owner)
    const list = () => client.send(new ListObjectsV2Command({ Bucket: stackBucket, Prefix: owner.path }))
    await list()
    const lastUse = async () => {
      const { json } = await key('list', '--app', app)
      expect(json).toHaveLength(2)
      return (json as { access_key_id: string; last_used_at: string | null }[]).map((row) => [
        row.access_key_id === owner.accessKeyId,
        row.last_used_at !== null,
      ])
    }
    expect(await lastUse()).toEqual([
      [false, false],
      [true, true],
    ])
    expect(await key('delete', owner.accessKeyId, '--app', app)).toMatchObject({ code: 0 })
    await expect(list()).rejects.toMatchObject({ name: 'InvalidAccessKeyId' })
    client.destroy()
    expect(await key('delete', owner.accessKeyId, '--app', app)).toMatchObject({ code: 1, json: undefined })
    expect(await key('reencrypt')).toMatchObject({ code: 0, json: { reencrypted: 0 } })
  })

  test.for([
    [['create', '--app', '999999'], 1, 'there is no app 999999'],
    [['list', '--app', '999999'], 1, 'there is no app 999999'],
    [['create'], 2, '--app'],
    [['delete', '--app', '1'], 2, 'access-key-id'],
  ] as const)('%j is refused with exit code %d', async ([args, code, words]) => {
    const { stderr, ...rest } = await key(...args)
    expect(rest).toEqual({ code, json: undefined })
    expect(stderr).toContain(words)
  })
})
