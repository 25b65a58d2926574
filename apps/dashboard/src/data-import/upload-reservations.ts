import { allowUpload, openShares, openTurns, untilClosed } from '@sluice/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitedApp, visitorOf } from '../access/guard.ts'
import type { DashboardContext } from '../context.ts'
import { counted } from '../layout/format.ts'
import { dropRest, refuseFile } from './refuse-file.ts'

/**
 * Maximum number of simultaneous uploads in one process, and of one app or one person. Each upload needs some megabytes
 * and a connection to storage. No app or person can use more than a quarter of the uploads.
 */
const uploadLimits = { all: 20, each: 5 }

/**
 * Time between the starts of two uploads of an app, ms. Small files cost much per byte: five clients at once, without
 * these pauses, made another app's requests take twice as long.
 */
const uploadStartMs = 150

/** The seconds after which a client may try again if there are too many uploads. */
const busySeconds = 10

/**
 * Returns a hook that reserves an upload before the file is read. Refuses the file if there are too many uploads. The
 * uploads of an app start {@link uploadStartMs} apart.
 */
export function openUploadReservations(context: DashboardContext) {
  const uploads = openShares(uploadLimits)
  const untilTurn = openTurns(uploadStartMs)
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply | undefined> => {
    const { appId } = visitedApp(request)
    const release = uploads.take([`app ${appId}`, `person ${visitorOf(request).email}`])
    if (release === undefined) {
      dropRest(request)
      const problem = 'Too many files are being uploaded at the moment. Please try again when another upload has ended.'
      return await refuseFile(context, request, reply, { status: 503, problem, retryAfter: busySeconds })
    }
    untilClosed(reply.raw)(release)
    const retryAfter = await context.uploadLimiter?.refuse(appId)
    if (retryAfter !== undefined) {
      dropRest(request)
      const problem = `Too many files were uploaded lately. Please try again in ${inWords(retryAfter)}.`
      return await refuseFile(context, request, reply, { status: 429, problem, retryAfter })
    }
    await untilTurn(appId)
    allowUpload(request.raw)
    return undefined
  }
}

/** Formats the time to wait. */
function inWords(seconds: number): string {
  return seconds < 60 ? counted(seconds, 'second') : counted(Math.ceil(seconds / 60), 'minute')
}
