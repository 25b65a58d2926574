import type { IncomingMessage } from 'node:http'
import { appOfSignedRequest } from '@sluice/access-keys'
import { AppSuspended, type CellRouter } from '@sluice/moves'
import { S3Error } from '@sluice/s3-endpoint'
import { forwardsOf, openForwarder } from '@sluice/service'

/**
 * Forwards each request whose access key names an app in another cell. That cell's gateway verifies the signature,
 * which covers the address that the client knows. Returns a function that returns its answer; undefined if this gateway
 * is to answer.
 */
export function forwardToCells(cells: CellRouter): (request: IncomingMessage) => Promise<IncomingMessage | undefined> {
  const forwarder = openForwarder()
  return async (request) => {
    const appId = appOfSignedRequest(`${request.headers.authorization ?? request.url}`)
    const address = await cells.addressOf(appId, forwardsOf(request)).catch((error: unknown) => {
      throw error instanceof AppSuspended ? new S3Error('SlowDown', 'Please reduce your request rate.') : error
    })
    return address === undefined ? undefined : await forwarder.send(request, address)
  }
}
