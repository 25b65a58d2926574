import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram, testCredentials, testRegion, testWith } from '@sluice/s3-endpoint/testing'
import { Client, CopyConditions } from 'minio'
import { beforeEach, describe, expect, test } from 'vitest'
import { makeDirectory, type RunningEndpoint, runEndpoint, testBucket } from './start.fixture.ts'

/** Large enough that aws, s3cmd and rclone send it in parts. For rclone, the test lowers the limit. */
const largeBytes = 18 * 1024 * 1024
/** minio sends files above this size in parts. */
const minioPartBytes = 64 * 1024 * 1024
const objectKey = 'folder/name with ü, + and (1).bin'

describe('common S3 clients work with their default settings', () => {
  let endpoint: RunningEndpoint
  let directory: string
  let large: Buffer

  beforeEach(async (context) => {
    const until = (end: () => Promise<void>) => context.onTestFinished(end)
    endpoint = await runEndpoint({}, until)
    directory = await makeDirectory(until)
    large = randomBytes(largeBytes)
    await writeFile(join(directory, 'large'), large)
  })

  testWith('s3cmd', 's3cmd stores, lists, fetches, copies and deletes', async (s3cmd) => {
    const { host } = new URL(endpoint.url)
    const config = join(directory, 's3cfg')
    const settings = [
      `access_key = ${testCredentials.accessKeyId}`,
      `secret_key = ${testCredentials.secretAccessKey}`,
      `host_base = ${host}`,
      `host_bucket = ${host}`,
      'use_https = False',
    ]
    await writeFile(config, `[default]\n${settings.join('\n')}\n`)
    const run = (...args: string[]) => runProgram(s3cmd, ['-c', config, '--no-progress', ...args])
    const address = `s3://${testBucket}/${objectKey}`

    await run('put', join(directory, 'large'), address)
    expect(await run('ls', `s3://${testBucket}/folder/`)).toContain(address)
    await run('get', address, join(directory, 'fetched'))
    expect(large.equals(await readFile(join(directory, 'fetched')))).toBe(true)
    await run('cp', address, `s3://${testBucket}/copy`)
    await run('del', '--recursive', '--force', `s3://${testBucket}/folder/`)
    expect((await run('ls', '--recursive', `s3://${testBucket}`)).trim().split('\n')).toHaveLength(1)
  })

  testWith('rclone', 'rclone stores, checks, lists, fetches and deletes', async (rclone) => {
    const environment = {
      RCLONE_CONFIG: join(directory, 'rclone.conf'),
      RCLONE_CONFIG_STORE_TYPE: 's3',
      RCLONE_CONFIG_STORE_PROVIDER: 'Other',
      RCLONE_CONFIG_STORE_ENDPOINT: endpoint.url,
      RCLONE_CONFIG_STORE_REGION: testRegion,
      RCLONE_CONFIG_STORE_ACCESS_KEY_ID: testCredentials.accessKeyId,
      RCLONE_CONFIG_STORE_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
    }
    const run = (...args: string[]) => runProgram(rclone, args, environment)
    const address = `store:${testBucket}/${objectKey}`

    await run('copyto', '--s3-upload-cutoff', '6M', '--s3-chunk-size', '6M', join(directory, 'large'), address)
    await run('copyto', join(directory, 'large'), `store:${testBucket}/whole`)
    expect((await run('lsf', '--recursive', `store:${testBucket}`)).trim().split('\n').sort()).toEqual([
      'folder/',
      objectKey,
      'whole',
    ])
    await run('copyto', address, join(directory, 'fetched'))
    expect(large.equals(await readFile(join(directory, 'fetched')))).toBe(true)
    await run('delete', `store:${testBucket}`)
    expect(await run('lsf', `store:${testBucket}`)).toBe('')
  })

  testWith('aws', 'the AWS command line stores, lists, fetches, pre-signs and deletes', async (aws) => {
    // Version 1 of the program pre-signs with the old Signature V2 by default.
    await writeFile(join(directory, 'aws-config'), '[default]\ns3 =\n  signature_version = s3v4\n')
    const environment = {
      AWS_CONFIG_FILE: join(directory, 'aws-config'),
      AWS_ACCESS_KEY_ID: testCredentials.accessKeyId,
      AWS_SECRET_ACCESS_KEY: testCredentials.secretAccessKey,
      AWS_DEFAULT_REGION: testRegion,
      AWS_EC2_METADATA_DISABLED: 'true',
    }
    const run = (...args: string[]) => {
      return runProgram(aws, ['--endpoint-url', endpoint.url, ...args], environment)
    }
    const address = `s3://${testBucket}/${objectKey}`

    await run('s3', 'cp', '--no-progress', join(directory, 'large'), address)
    expect(await run('s3', 'ls', `s3://${testBucket}/folder/`)).toContain(`${largeBytes} name with ü`)
    await run('s3', 'cp', '--no-progress', address, join(directory, 'fetched'))
    expect(large.equals(await readFile(join(directory, 'fetched')))).toBe(true)
    const link = await run('s3', 'presign', address)
    expect(Buffer.from(await (await fetch(link.trim())).arrayBuffer()).equals(large)).toBe(true)
    await run('s3', 'rm', '--recursive', `s3://${testBucket}/folder`)
    expect(await run('s3api', 'list-objects-v2', '--bucket', testBucket, '--query', 'length(Contents || `[]`)')).toBe(
      '0\n',
    )
  })

  test('minio stores in parts, resumes an interrupted upload, lists, fetches, copies and deletes', async () => {
    const { hostname, port } = new URL(endpoint.url)
    const { accessKeyId: accessKey, secretAccessKey: secretKey } = testCredentials
    const minio = new Client({ endPoint: hostname, port: Number(port), useSSL: false, accessKey, secretKey })
    const bytes = randomBytes(minioPartBytes + 1000)
    await writeFile(join(directory, 'huge'), bytes)

    const begun = await minio.initiateNewMultipartUpload(testBucket, objectKey, {})
    const part = { bucketName: testBucket, objectName: objectKey, uploadID: begun, partNumber: 1, headers: {} }
    await minio.uploadPart(part, bytes.subarray(0, minioPartBytes))
    const folders = await minio.listIncompleteUploads(testBucket, '', false).toArray()
    expect(folders).toEqual([{ prefix: 'folder/' }])

    await minio.fPutObject(testBucket, objectKey, join(directory, 'huge'))
    expect(await minio.listIncompleteUploads(testBucket, '', true).toArray()).toEqual([])
    const objects = await minio.listObjectsV2(testBucket, '', true).toArray()
    expect(objects).toMatchObject([{ name: objectKey, size: bytes.length }])
    await minio.fGetObject(testBucket, objectKey, join(directory, 'fetched'))
    expect(bytes.equals(await readFile(join(directory, 'fetched')))).toBe(true)

    const { etag } = await minio.statObject(testBucket, objectKey)
    const unchanged = new CopyConditions()
    unchanged.setMatchETag(etag)
    await minio.copyObject(testBucket, 'copy', `/${testBucket}/${objectKey}`, unchanged)
    await minio.removeObjects(testBucket, [objectKey, 'copy'])
    expect(await minio.listObjectsV2(testBucket, '', true).toArray()).toEqual([])
  })
})
