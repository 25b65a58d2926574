import { S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import type { Settings } from '@sluice/config'

/** The settings that connecting to storage takes. */
export const storageSettings = [
  'S3_ENDPOINT',
  'S3_PUBLIC_ENDPOINT',
  'S3_REGION',
  'S3_BUCKET',
  'S3_ACCESS_KEY_ID',
  'S3_SECRET_ACCESS_KEY',
] as const

export type StorageSettings = Settings<(typeof storageSettings)[number]>

/** How long storage is waited for, ms: for an answer once a request has begun (0: however long), and while nothing moves. */
export interface Patience {
  requestTimeout: number
  socketTimeout: number
  /** Requests at a time; further ones wait. The SDK's own figure is 50. */
  maxSockets?: number
}

/**
 * How long a connection is kept for the next request, ms. It is shorter than anyone waits for an answer: one that died without
 * a word is gone before a request is repeated, which would take it otherwise and wait in vain again.
 */
const idleTimeout = 5_000

/** What the SDK would write to the terminal, such as that a body broke off, is thrown as well, and logged where it matters. */
const silent = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }

/**
 * Makes a client of the deployment's storage at the given address. Connects on first use. When `stop` aborts, each request
 * in flight ends with an AbortError, as does each later one.
 */
export function connect(settings: StorageSettings, endpoint: string, patience: Patience, stop?: AbortSignal): S3Client {
  const { requestTimeout, socketTimeout, maxSockets } = patience
  const agent = { timeout: idleTimeout, ...(maxSockets !== undefined && { maxSockets }) }
  const client = new S3Client({
    endpoint,
    region: settings.S3_REGION,
    forcePathStyle: true,
    credentials: { accessKeyId: settings.S3_ACCESS_KEY_ID, secretAccessKey: settings.S3_SECRET_ACCESS_KEY },
    // Otherwise a pre-signed URL carries the checksum of an empty body, which storage then holds against the real one.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    logger: silent,
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout,
      throwOnRequestTimeout: true,
      socketTimeout,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
  if (stop !== undefined) endRequests(client, stop)
  return client
}

/** Passes the signal to each request of the client, beside the request's own signal. */
function endRequests(client: S3Client, stop: AbortSignal): void {
  const send = client.send
  Object.assign(client, {
    send(command: unknown, options: { abortSignal?: AbortSignal } = {}): unknown {
      const { abortSignal: own } = options
      const abortSignal = own === undefined ? stop : AbortSignal.any([own, stop])
      return Reflect.apply(send, client, [command, { ...options, abortSignal }])
    },
  })
}

/** The HTTP status of an answer that storage refused a request with; undefined for any other failure. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}
