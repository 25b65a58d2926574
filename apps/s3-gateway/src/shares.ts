import { type Admit, type OperationName, S3Error } from '@sluice/s3-endpoint'
import { openShares } from '@sluice/service'
import { relayRequests } from '@sluice/storage'
import type { Sender } from './access.ts'

/** Operations whose body goes to storage while it arrives: each holds one of the relay's requests as long as its sender. */
const uploads = new Set<OperationName>(['PutObject', 'UploadPart'])

/** Requests to storage that uploads leave to the short calls of all apps. */
const reservedRequests = 100

/** Other requests of an app in flight: short, unless storage or Postgres is slow. */
const callsPerApp = 50

/** How many requests may be in flight. */
interface ShareLimits {
  total: number
  perApp: number
}

/**
 * Limits each app to a share of the requests that this process has in flight, and each access key to half of that. One app, or
 * one key that got into wrong hands, so never holds what the others need.
 *
 * `uploadsPerApp` is the share of uploads; other operations have a share of their own. Throws SlowDown past a share.
 */
export function admitSender(uploadsPerApp: number): Admit<Sender> {
  const admitUpload = openSenderShares({ total: relayRequests - reservedRequests, perApp: uploadsPerApp })
  const admitCall = openSenderShares({ total: Number.POSITIVE_INFINITY, perApp: callsPerApp })
  return (sender, operation) => {
    const release = uploads.has(operation) ? admitUpload(sender) : admitCall(sender)
    if (release === undefined) throw new S3Error('SlowDown', 'Please reduce your request rate.')
    return release
  }
}

/** Returns what takes a place for a sender. That returns the place's release, or undefined if a share is used up. */
function openSenderShares({ total, perApp }: ShareLimits): (sender: Sender) => (() => void) | undefined {
  const apps = openShares({ all: total, each: perApp })
  const keys = openShares({ all: Number.POSITIVE_INFINITY, each: Math.ceil(perApp / 2) })
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
