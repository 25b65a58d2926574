import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3Client, type S3ClientConfig } from '@aws-sdk/client-s3'
import { testCredentials, testRegion } from '@sluice/s3-endpoint/testing'
import { onTestFinished } from 'vitest'
import { type S3Endpoint, type S3EndpointOptions, startS3Endpoint } from './start.ts'

export const testBucket = 'test-bucket'

/** An endpoint over a directory of its own. Both are removed at the end of the test. */
export interface RunningEndpoint extends S3Endpoint {
  root: string
  /** Creates a client of the AWS SDK with its default settings. */
  client(config?: S3ClientConfig): S3Client
}

/**
 * Starts an endpoint. `until` accepts the function that closes the endpoint. By default, the end of the test calls it.
 */
export async function runEndpoint(
  options: Partial<S3EndpointOptions> = {},
  until: (end: () => Promise<void>) => void = onTestFinished,
): Promise<RunningEndpoint> {
  const root = options.root ?? (await makeDirectory(until))
  const endpoint = await startS3Endpoint({
    root,
    host: '127.0.0.1',
    port: 0,
    credentials: testCredentials,
    region: testRegion,
    buckets: [testBucket],
    ...options,
  })
  until(() => endpoint.close())
  const client = (config: S3ClientConfig = {}) => {
    const made = new S3Client({
      endpoint: endpoint.url,
      region: testRegion,
      credentials: testCredentials,
      forcePathStyle: true,
      ...config,
    })
    until(async () => made.destroy())
    return made
  }
  return { ...endpoint, root, client }
}

/**
 * Collects the cleanup of a test file. Pass `until` to the other functions of this file, and return `end` from
 * `beforeAll`.
 */
export function fileTeardown(): { until: (end: () => Promise<void>) => void; end: () => Promise<void> } {
  const ends: (() => Promise<void>)[] = []
  return {
    until: (end) => void ends.unshift(end),
    end: async () => {
      for (const end of ends) await end()
    },
  }
}

/**
 * Creates an empty directory. `until` accepts the function that removes it. By default, the end of the test calls it.
 */
export async function makeDirectory(until: (end: () => Promise<void>) => void = onTestFinished): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 's3-endpoint-'))
  until(() => rm(path, { recursive: true, force: true }))
  return path
}
