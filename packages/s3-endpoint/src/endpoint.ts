import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { createDiskBackend } from './disk/backend.ts'
import { checkBucketName, checkNewBucketName } from './protocol/bucket-names.ts'
import { createS3Server, type S3ServerOptions } from './server.ts'

/** The options of an endpoint on disk. */
export type S3EndpointOptions = Pick<S3ServerOptions<string>, 'clients' | 'corsOrigins' | 'onError'> & {
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
export type S3Endpoint = { url: string; port: number; close(): Promise<void> }

/**
 * Starts an S3 endpoint over a directory. It accepts one access key, which may use all operations.
 *
 * Rejects if the directory cannot be used, a bucket's name is not valid, or the port is in use.
 */
export async function startS3Endpoint(options: S3EndpointOptions): Promise<S3Endpoint> {
  const { credentials, host, region, root } = options
  const backend = await createDiskBackend({ root })
  for (const bucket of options.buckets) {
    if (!(await backend.hasBucket(checkBucketName(bucket)))) await backend.createBucket(checkNewBucketName(bucket))
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
  const { port } = listeningAddress(server.http.address())
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    port,
    close: async () => {
      const closed = once(server.http, 'close')
      server.http.close()
      server.http.closeAllConnections()
      await closed
      await server.settled()
    },
  }
}

function listeningAddress(address: AddressInfo | string | null): AddressInfo {
  if (address === null || typeof address === 'string') throw new Error('the S3 endpoint listens on no TCP port')
  return address
}
