import { type Admit, type OperationName, S3Error } from '@sluice/s3-endpoint'
import { openShares, openTurns } from '@sluice/service'
import type { Sender } from './access.ts'

/**
 * Operations whose body is streamed to storage. Each holds a request to storage until its sender has finished.
 */
const uploads = new Set<OperationName>(['PutObject', 'UploadPart'])

/** Maximum number of requests to storage in flight. Further requests wait. */
export const maxStorageRequests = 1_000

/** Number of requests to storage that are reserved for the short calls of all apps. */
const reservedRequests = 100

/**
 * Maximum number of calls of an app in flight that are not uploads. Calls are short unless storage or Postgres is slow.
 */
const callsPerApp = 50

/**
 * Time between the starts of two uploads of an app, ms. Small files cost much per byte: 20 clients at once, without
 * these pauses, made another app's listing take four times as long.
 */
const uploadStartMs = 60

/** Maximum number of requests in flight, of all apps and of each app. */
interface ShareLimits {
  total: number
  perApp: number
}

/**
 * Limits each app to a share of the requests that this process has in flight, and each access key to half of that
 * share. One app, or one stolen key, can therefore never block the others.
 *
 * `uploadsPerApp` is the share of uploads. Other operations have a separate share. Throws SlowDown if a share is used
 * up. The uploads of an app start at least `startMs` apart, and wait before their bodies are read.
 */
export function admitSender(uploadsPerApp: number, startMs = uploadStartMs): Admit<Sender> {
  const admitUpload = openSenderShares({ total: maxStorageRequests - reservedRequests, perApp: uploadsPerApp })
  const admitCall = openSenderShares({ total: Number.POSITIVE_INFINITY, perApp: callsPerApp })
  const untilTurn = openTurns(startMs)
  return async (sender, operation) => {
    const release = uploads.has(operation) ? admitUpload(sender) : admitCall(sender)
    if (release === undefined) throw new S3Error('SlowDown', 'Please reduce your request rate.')
    if (uploads.has(operation)) await untilTurn(sender.appId)
    return release
  }
}

/**
 * Opens shares of `total` requests in flight. Returns a function that reserves a place for one request of a sender.
 *
 * A reservation is a function that releases the place. It is undefined if no place is left: in total, for the sender's
 * app, or for its access key.
 */
function openSenderShares({ total, perApp }: ShareLimits): (sender: Sender) => (() => void) | undefined {
  const apps = openShares({ all: total, each: perApp })
  const keys = openShares({ each: Math.ceil(perApp / 2) })
  return ({ appId, accessKeyId }) => {
    const releaseApp = apps.take([String(appId)])
    if (releaseApp === undefined) return undefined
    const releaseKey = keys.take([accessKeyId])
    if (releaseKey === undefined) {
      releaseApp()
      return undefined
    }
    return () => {
      releaseKey()
      releaseApp()
    }
  }
}
