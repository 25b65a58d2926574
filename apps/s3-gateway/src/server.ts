import type { Settings } from '@sluice/config'
import { createS3Server, type S3Server, type S3ServerOptions, s3ClientPolicy } from '@sluice/s3-endpoint'
import { openPace } from '@sluice/service'
import { authorizeSender, findSender, type Sender } from './access.ts'
import { gatewayBackend } from './backend.ts'
import type { GatewayContext } from './context.ts'
import { admitSender } from './shares.ts'

/** The names of the settings that the gateway's server needs. */
export const gatewaySettings = [
  'S3_GATEWAY_APP_UPLOADS',
  'S3_GATEWAY_BODY_GRACE',
  'S3_GATEWAY_BODY_TIMEOUT',
  'ENCRYPTION_KEYS',
  'S3_BUCKET',
  'S3_REGION',
  'WAITING_IMPORTS_LIMIT',
] as const

/**
 * How fast the uploads of an app pass to storage. One stream as fast as the machine can keeps two cores busy, and
 * another app's listing took three times as long.
 */
const uploadPace = { bytesPerSecond: 64 * 2 ** 20, burstBytes: 8 * 2 ** 20 }

/**
 * Creates the S3 gateway: an S3 server for the apps' paths in the deployment's bucket. Senders sign with an access key.
 *
 * The caller starts listening and closes the server. `now` is the clock for the verification of signatures.
 */
export function createGateway(
  services: Omit<GatewayContext, 'settings' | 'paced'> & Pick<S3ServerOptions<Sender>, 'forward'>,
  settings: Settings<(typeof gatewaySettings)[number]>,
  now?: () => Date,
): S3Server {
  const { db, log, forward } = services
  const context = { ...services, settings, paced: openPace(uploadPace) }
  const body = {
    ...s3ClientPolicy.body,
    graceMs: settings.S3_GATEWAY_BODY_GRACE,
    totalMs: settings.S3_GATEWAY_BODY_TIMEOUT,
  }
  return createS3Server({
    backend: gatewayBackend(context, settings.S3_BUCKET),
    findCredentials: findSender(db, settings.ENCRYPTION_KEYS),
    authorize: authorizeSender(context, settings.S3_BUCKET),
    admit: admitSender(settings.S3_GATEWAY_APP_UPLOADS),
    clients: { ...s3ClientPolicy, body },
    region: settings.S3_REGION,
    onError: (error, { requestId, method }) => {
      log.error({ err: error, request_id: requestId, method }, 'request failed')
    },
    ...(forward !== undefined && { forward }),
    ...(now !== undefined && { now }),
  })
}
