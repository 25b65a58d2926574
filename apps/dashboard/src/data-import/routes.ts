import type { Readable } from 'node:stream'
import { limits } from '@sluice/contract'
import { receiveUpload, TooManyWaiting } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import { allowUpload, clientPolicy, openShares } from '@sluice/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitedApp, visitorOf } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { counted } from '../layout/format.ts'
import { FileForm, FileTooLarge, parseFileForms } from './file-form.ts'
import { sendDataImport } from './data-import-page.ts'

/**
 * Uploads at a time: in one process, as each takes some megabytes and a connection to storage, and of one app or one person.
 * No tenant takes more than a quarter.
 */
const mostUploads = { all: 20, each: 5 }

/** After so many seconds a refused upload is worth another try. */
const busySeconds = 10
const again = 'Please try again when another upload has ended.'

/** Characters of a file's name that are kept. */
const nameLength = 255

/** Data import: a file from the browser goes to storage as it comes, and into the app's line (service.md, Endpoints, 4). */
export const dataImportRoutes: PageRoutes = (dashboard, context) => {
  const uploads = openShares(mostUploads)

  dashboard.get('/apps/:appId/data-import', async (request, reply) => {
    const { appId } = visitedApp(request)
    return sendDataImport(reply, appId, await registeredKeys(context.db, appId))
  })

  const take = (dryRun: boolean) => async (request: FastifyRequest, reply: FastifyReply) => {
    const { appId } = visitedApp(request)
    const refuse = async (status: number, problem: string) => {
      const keys = await registeredKeys(context.db, appId)
      return sendDataImport(reply.code(status), appId, keys, problem)
    }
    const file = request.body instanceof FileForm ? request.body.file : undefined
    if (file === undefined) return await refuse(400, 'Choose a file first.')
    try {
      const fileName = file.name.replaceAll('\0', '').toWellFormed().slice(0, nameLength).toWellFormed()
      const upload = {
        fileName,
        dryRun,
        longestMs: clientPolicy.upload.totalMs,
        byteSize: sizeIn(request.body),
        bytes: atMost(file.bytes, limits.uploadBytesDashboard),
      }
      const importId = await receiveUpload(context, appId, upload)
      request.log.info({ app_id: appId, import_id: importId, by: request.visitor?.email }, 'file uploaded')
      return reply.redirect(
        importId === undefined ? `/apps/${appId}/imports` : `/apps/${appId}/imports/${importId}`,
        303,
      )
    } catch (error) {
      dropRest(request)
      if (error instanceof TooManyWaiting) {
        reply.header('Retry-After', error.retryAfter)
        return await refuse(
          429,
          `${error.limit.toLocaleString('en-US')} imports wait already. Please try again when some of them have ended. Nothing was imported.`,
        )
      }
      if (!(error instanceof FileTooLarge)) throw error
      return await refuse(
        413,
        `The file is over the limit of ${limits.uploadBytesDashboard / 2 ** 20} MB. Nothing was imported.`,
      )
    }
  }

  /** Reserves a place for a file before anything of it is read. */
  const takePlace = async (request: FastifyRequest, reply: FastifyReply) => {
    const { appId } = visitedApp(request)
    const refuse = async (status: number, seconds: number, problem: string) => {
      dropRest(request)
      const keys = await registeredKeys(context.db, appId)
      return sendDataImport(reply.code(status).header('Retry-After', seconds), appId, keys, problem)
    }
    const release = uploads.take([`app ${appId}`, `person ${visitorOf(request).email}`])
    if (release === undefined) {
      return await refuse(503, busySeconds, `Too many files are being uploaded at the moment. ${again}`)
    }
    reply.raw.once('close', release)
    const seconds = await context.uploadLimiter?.refuse(appId)
    if (seconds !== undefined) {
      return await refuse(429, seconds, `Too many files were uploaded lately. Please try again in ${inWords(seconds)}.`)
    }
    allowUpload(request.raw)
  }

  dashboard.register(async (scope) => {
    parseFileForms(scope, limits.uploadBytesDashboard)
    scope.addHook('preParsing', takePlace)
    const config = { upload: true }
    scope.post('/apps/:appId/data-import', { config }, take(false))
    scope.post('/apps/:appId/data-import/dry-run', { config }, take(true))
  })
}

/** The file's size (bytes) by the form, which the script of the page fills in: it saves storing the file in parts. */
function sizeIn(form: unknown): number | undefined {
  const size = form instanceof FileForm ? (form.get('byte_size') ?? '') : ''
  return /^\d{1,10}$/.test(size) ? Number(size) : undefined
}

/** How long to wait, for people. */
function inWords(seconds: number): string {
  return seconds < 60 ? counted(seconds, 'second') : counted(Math.ceil(seconds / 60), 'minute')
}

/** Reads and drops what is left of a file, so that the browser comes to read the answer. */
function dropRest({ raw }: FastifyRequest): void {
  raw.unpipe()
  raw.resume()
}

/** The bytes of a file as they come; throws {@link FileTooLarge} where they are more. */
async function* atMost(bytes: Readable, limit: number): AsyncGenerator<Buffer> {
  let count = 0
  for await (const chunk of bytes.iterator({ destroyOnReturn: false })) {
    count += chunk.length
    if (count > limit) throw new FileTooLarge()
    yield chunk
  }
}
