import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { Client, CopyConditions } from 'minio'
import { beforeEach, describe, expect, test } from 'vitest'
import { runProgram, testWith } from './testing/command.ts'
import {
  BUCKET,
  CREDENTIALS,
  makeDirectory,
  REGION,
  type RunningEndpoint,
  runEndpoint,
} from './testing/running-endpoint.ts'

/** Large enough for each client to send it in parts. */
const LARGE_BYTES = 18 * 1024 * 1024
/** minio sends larger files in parts. */
const MINIO_PART_BYTES = 64 * 1024 * 1024
const KEY = 'folder/name with ü, + and (1).bin'

describe('programs that people use with S3 work, with their default settings', () => {
  let endpoint: RunningEndpoint
  let directory: string
  let large: Buffer

  beforeEach(async (context) => {
    const until = (end: () => Promise<void>) => context.onTestFinished(end)
    endpoint = await runEndpoint({}, until)
    directory = await makeDirectory(until)
    large = randomBytes(LARGE_BYTES)
    await writeFile(join(directory, 'large'), large)
  })

  testWith('s3cmd', 's3cmd stores, lists, fetches, copies and deletes', async (s3cmd) => {
    const { host } = new URL(endpoint.url)
    const config = join(directory, 's3cfg')
    const settings = [
      `access_key = ${CREDENTIALS.accessKeyId}`,
      `secret_key = ${CREDENTIALS.secretAccessKey}`,
      `host_base = ${host}`,
      `host_bucket = ${host}`,
      'use_https = False',
    ]
    await writeFile(config, `[default]\n${settings.join('\n')}\n`)
    const run = (...args: string[]) => runProgram(s3cmd, ['-c', config, '--no-progress', ...args])
    const address = `s3://${BUCKET}/${KEY}`

    await run('put', join(directory, 'large'), address)
    expect(await run('ls', `s3://${BUCKET}/folder/`)).toContain(address)
    await run('get', address, join(directory, 'fetched'))
    expect(large.equals(await readFile(join(directory, 'fetched')))).toBe(true)
    await run('cp', address, `s3://${BUCKET}/copy`)
    await run('del', '--recursive', '--force', `s3://${BUCKET}/folder/`)
    expect((await run('ls', '--recursive', `s3://${BUCKET}`)).trim().split('\n')).toHaveLength(1)
  })

  testWith('rclone', 'rclone stores, checks, lists, fetches and deletes', async (rclone) => {
    const environment = {
      RCLONE_CONFIG: join(directory, 'rclone.conf'),
      RCLONE_CONFIG_STORE_TYPE: 's3',
      RCLONE_CONFIG_STORE_PROVIDER: 'Other',
      RCLONE_CONFIG_STORE_ENDPOINT: endpoint.url,
      RCLONE_CONFIG_STORE_REGION: REGION,
      RCLONE_CONFIG_STORE_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
    }
    const run = (...args: string[]) => runProgram(rclone, args, environment)
    const address = `store:${BUCKET}/${KEY}`

    await run('copyto', '--s3-upload-cutoff', '6M', '--s3-chunk-size', '6M', join(directory, 'large'), address)
    await run('copyto', join(directory, 'large'), `store:${BUCKET}/whole`)
    expect((await run('lsf', '--recursive', `store:${BUCKET}`)).trim().split('\n').sort()).toEqual([
      'folder/',
      KEY,
      'whole',
    ])
    await run('copyto', address, join(directory, 'fetched'))
    expect(large.equals(await readFile(join(directory, 'fetched')))).toBe(true)
    await run('delete', `store:${BUCKET}`)
    expect(await run('lsf', `store:${BUCKET}`)).toBe('')
  })

  testWith('aws', 'the AWS command line stores, lists, fetches, pre-signs and deletes', async (aws) => {
    // Version 1 of the program pre-signs with the old Signature V2 unless it is told not to.
    await writeFile(join(directory, 'aws-config'), '[default]\ns3 =\n  signature_version = s3v4\n')
    const environment = {
      AWS_CONFIG_FILE: join(directory, 'aws-config'),
      AWS_ACCESS_KEY_ID: CREDENTIALS.accessKeyId,
      AWS_SECRET_ACCESS_KEY: CREDENTIALS.secretAccessKey,
      AWS_DEFAULT_REGION: REGION,
      AWS_EC2_METADATA_DISABLED: 'true',
    }
    const run = (...args: string[]) => {
      return runProgram(aws, ['--endpoint-url', endpoint.url, ...args], environment)
    }
    const address = `s3://${BUCKET}/${KEY}`

    await run('s3', 'cp', '--no-progress', join(directory, 'large'), address)
    expect(await run('s3', 'ls', `s3://${BUCKET}/folder/`)).toContain(`${LARGE_BYTES} name with ü`)
    await run('s3', 'cp', '--no-progress', address, join(directory, 'fetched'))
    expect(large.equals(await readFile(join(directory, 'fetched')))).toBe(true)
    const link = await run('s3', 'presign', address)
    expect(Buffer.from(await (await fetch(link.trim())).arrayBuffer()).equals(large)).toBe(true)
    await run('s3', 'rm', '--recursive', `s3://${BUCKET}/folder`)
    expect(await run('s3api', 'list-objects-v2', '--bucket', BUCKET, '--query', 'length(Contents || `[]`)')).toBe('0\n')
  })

  test('minio stores in parts, goes on with an upload that broke off, lists, fetches, copies and deletes', async () => {
    const { hostname, port } = new URL(endpoint.url)
    const { accessKeyId: accessKey, secretAccessKey: secretKey } = CREDENTIALS
    const minio = new Client({ endPoint: hostname, port: Number(port), useSSL: false, accessKey, secretKey })
    const bytes = randomBytes(MINIO_PART_BYTES + 1000)
    await writeFile(join(directory, 'huge'), bytes)

    const begun = await minio.initiateNewMultipartUpload(BUCKET, KEY, {})
    const part = { bucketName: BUCKET, objectName: KEY, uploadID: begun, partNumber: 1, headers: {} }
    await minio.uploadPart(part, bytes.subarray(0, MINIO_PART_BYTES))
    const folders = await minio.listIncompleteUploads(BUCKET, '', false).toArray()
    expect(folders).toEqual([{ prefix: 'folder/' }])

    await minio.fPutObject(BUCKET, KEY, join(directory, 'huge'))
    expect(await minio.listIncompleteUploads(BUCKET, '', true).toArray()).toEqual([])
    const objects = await minio.listObjectsV2(BUCKET, '', true).toArray()
    expect(objects).toMatchObject([{ name: KEY, size: bytes.length }])
    await minio.fGetObject(BUCKET, KEY, join(directory, 'fetched'))
    expect(bytes.equals(await readFile(join(directory, 'fetched')))).toBe(true)

    const { etag } = await minio.statObject(BUCKET, KEY)
    const unchanged = new CopyConditions()
    unchanged.setMatchETag(etag)
    await minio.copyObject(BUCKET, 'copy', `/${BUCKET}/${KEY}`, unchanged)
    await minio.removeObjects(BUCKET, [KEY, 'copy'])
    expect(await minio.listObjectsV2(BUCKET, '', true).toArray()).toEqual([])
  })
})
