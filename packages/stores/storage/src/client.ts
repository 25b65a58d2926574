import { S3Client, S3ServiceException } from '@aws-sdk/client-s3'
import { configuredCredentials } from './credentials.ts'
import type { StorageSettings } from './storage-settings.ts'

export interface ClientLimits {
  /** Longest time from the start of a request to its answer. */
  requestTimeoutMs: number
  /** Longest time without a byte in either direction. */
  socketTimeoutMs: number
  /** Maximum number of requests in flight; further requests wait. */
  maxSockets: number
}

export interface Clients {
  bucket: string
  /** For short calls. */
  calls: S3Client
  /** For requests with streamed bodies, and for calls that take long. */
  long: S3Client
}

/** How long storage may take to answer, or to send or accept the next bytes. */
export const responseTimeoutMs = 20_000
/** How long storage may take to copy an object, or to assemble one from its parts. */
export const longRequestMs = 4 * 60_000
/**
 * How long the sender of a streamed body may pause. The servers' limits for slow clients end a stalled sender before
 * this time.
 */
export const maxSenderPauseMs = 15 * 60_000

/**
 * How long an idle connection is kept for the next request.
 *
 * It is shorter than every timeout of a request. A connection that died unnoticed is therefore closed before a request
 * is repeated. Otherwise the repeated request would use the dead connection and time out again.
 */
const idleTimeoutMs = 5_000

/** The SDK throws everything that it would write to the terminal. Callers log those errors if they matter. */
const noLogger = { trace() {}, debug() {}, info() {}, warn() {}, error() {} }

/**
 * Creates a client of the deployment's storage at the given address. It connects on first use.
 *
 * When `stop` aborts, all requests in flight and all later requests reject with an AbortError.
 */
export function connect(
  settings: StorageSettings,
  endpoint: string,
  limits: ClientLimits,
  stop?: AbortSignal,
): S3Client {
  const { requestTimeoutMs, socketTimeoutMs, maxSockets } = limits
  const agent = { timeout: idleTimeoutMs, maxSockets }
  const client = new S3Client({
    endpoint,
    region: settings.S3_REGION,
    // second-day.md §7, Storage.
    forcePathStyle: settings.S3_PATH_STYLE ?? true,
    ...configuredCredentials(settings),
    // Otherwise a pre-signed URL carries the checksum of an empty body, and storage compares it with the real body.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    logger: noLogger,
    requestHandler: {
      connectionTimeout: 5_000,
      requestTimeout: requestTimeoutMs,
      throwOnRequestTimeout: true,
      socketTimeout: socketTimeoutMs,
      httpAgent: agent,
      httpsAgent: agent,
    },
  })
  if (stop !== undefined) abortRequestsOn(stop, client)
  return client
}

/** Aborts each request of the client when `stop` aborts, or the request's own signal. */
function abortRequestsOn(stop: AbortSignal, client: S3Client): void {
  const send = client.send
  Object.assign(client, {
    send(command: unknown, options: { abortSignal?: AbortSignal } = {}): unknown {
      const { abortSignal: own } = options
      const abortSignal = own === undefined ? stop : AbortSignal.any([own, stop])
      return Reflect.apply(send, client, [command, { ...options, abortSignal }])
    },
  })
}

/** Returns the HTTP status with which storage refused a request, or undefined for any other failure. */
export function statusOf(error: unknown): number | undefined {
  return error instanceof S3ServiceException ? error.$metadata.httpStatusCode : undefined
}
