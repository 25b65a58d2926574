import { once } from 'node:events'
import { checkBucketName, createS3Server, type S3ServerOptions } from '@sluice/s3-endpoint'
import { addressOf } from '../ports.ts'
import { createDiskBackend } from './backend.ts'

/** The options of an endpoint on disk. */
export interface S3EndpointOptions extends Pick<S3ServerOptions<string>, 'clients' | 'onError'> {
  /** The directory that holds all data; created if it is missing. One endpoint at a time may use it. */
  root: string
  host: string
  /** 0 picks a free port. */
  port: number
  credentials: { accessKeyId: string; secretAccessKey: string }
  region: string
  /** The buckets that must exist; created if they are missing. */
  buckets: readonly string[]
}

/** A listening endpoint. `close` closes all connections and resolves when all requests have ended. */
export interface S3Endpoint {
  url: string
  port: number
  close(): Promise<void>
}

/**
 * Starts an S3 endpoint over a directory. It accepts one access key, which may use all operations.
 *
 * Rejects if the directory cannot be used, a bucket's name is not valid, or the port is in use.
 */
export async function startS3Endpoint(options: S3EndpointOptions): Promise<S3Endpoint> {
  const { credentials, host, region, root } = options
  const backend = await createDiskBackend({ root })
  for (const bucket of options.buckets) {
    if (!(await backend.hasBucket(checkBucketName(bucket)))) await backend.createBucket(bucket)
  }
  const server = createS3Server({
    ...options,
    backend,
    region,
    findCredentials: async (accessKeyId) => {
      if (accessKeyId !== credentials.accessKeyId) return undefined
      return { secretAccessKey: credentials.secretAccessKey, identity: accessKeyId }
    },
  })
  server.http.listen(options.port, host)
  await once(server.http, 'listening')
  const address = server.http.address()
  const port = typeof address === 'object' && address !== null ? address.port : options.port
  return {
    url: addressOf('http', host, port),
    port,
    close: async () => {
      const closed = once(server.http, 'close')
      server.http.close()
      server.http.closeAllConnections()
      await closed
      await server.idle()
    },
  }
}
