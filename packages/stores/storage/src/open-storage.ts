import { HeadBucketCommand } from '@aws-sdk/client-s3'
import { type Clients, connect, maxSenderPauseMs, responseTimeoutMs, statusOf } from './client.ts'
import { changeCalls, readCalls } from './objects.ts'
import { partCalls } from './parts.ts'
import { presignCalls } from './presign.ts'
import type { Storage } from './storage.ts'
import type { StorageSettings } from './storage-settings.ts'
import { writeCalls } from './write.ts'

/** The health check must answer sooner than a request times out. */
const checkTimeoutMs = 5_000

/**
 * Opens the deployment's bucket. Connects on first use.
 *
 * When `stop` aborts, every request rejects with an AbortError. `maxRequests` is the maximum number of requests with a
 * body, and of other requests, in flight; further requests wait. A call of an upload in parts throws
 * {@link StorageRefusal} or {@link StorageFull} if storage refuses it.
 */
export function openStorage(settings: StorageSettings, stop?: AbortSignal, maxRequests = 50): Storage {
  const limits = { requestTimeoutMs: responseTimeoutMs, socketTimeoutMs: 60_000, maxSockets: maxRequests }
  const clients: Clients = {
    bucket: settings.S3_BUCKET,
    calls: connect(settings, settings.S3_ENDPOINT, limits, stop),
    long: connect(settings, settings.S3_ENDPOINT, { ...limits, socketTimeoutMs: maxSenderPauseMs }, stop),
  }
  const publicClient = connect(settings, settings.S3_PUBLIC_ENDPOINT ?? settings.S3_ENDPOINT, limits)
  return {
    ...presignCalls(publicClient, settings.S3_BUCKET),
    ...readCalls(clients),
    ...changeCalls(clients),
    ...writeCalls(clients),
    ...partCalls(clients),

    async check() {
      const abortSignal = AbortSignal.timeout(checkTimeoutMs)
      try {
        await clients.calls.send(new HeadBucketCommand({ Bucket: settings.S3_BUCKET }), { abortSignal })
      } catch (error) {
        const status = statusOf(error)
        if (status === undefined) throw error
        // An answer to HEAD has no body, so the SDK's error has no message.
        throw new Error(`storage answers ${status} for the bucket ${settings.S3_BUCKET}`, { cause: error })
      }
    },

    close() {
      clients.calls.destroy()
      clients.long.destroy()
      publicClient.destroy()
    },
  }
}
