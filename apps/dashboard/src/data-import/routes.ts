import type { Readable } from 'node:stream'
import { limits } from '@sluice/contract'
import { receiveDashboardFile, TooManyWaiting } from '@sluice/imports'
import { clientPolicy } from '@sluice/service'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitedApp, visitorOf } from '../access/guard.ts'
import type { DashboardContext, PageRoutes } from '../context.ts'
import { heldAddress } from '../imports/one-import.ts'
import { importRules, sendDataImport } from './data-import-page.ts'
import { FileForm, FileTooLarge, parseFileForms } from './file-form.ts'
import { readOptions } from './form-options.ts'
import { dropRest, isOfScript, type Refusal, refuseFile } from './refuse-file.ts'
import { openUploadReservations } from './upload-reservations.ts'

const limitBytes = limits.uploadBytesDashboard

/** Maximum number of characters of a file's name that are kept. */
const longestFileName = 255

/**
 * Adds the page that imports a file. The file is streamed to storage and queued as an import
 * (service.md, Endpoints 4; service.md, Limits).
 */
export const dataImportRoutes: PageRoutes = (dashboard, context) => {
  dashboard.get('/apps/:appId/data-import', async (request, reply) => {
    const { appId } = visitedApp(request)
    return sendDataImport(reply, appId, await importRules(context.db, appId))
  })

  dashboard.register(async (scope) => {
    parseFileForms(scope, limitBytes)
    scope.addHook('preParsing', openUploadReservations(context))
    const config = { upload: true, audit: { unrecordedBecause: 'the import itself is the record' } }
    scope.post('/apps/:appId/data-import', { config }, importSentFile(context, { dryRun: false }))
    scope.post('/apps/:appId/data-import/dry-run', { config }, importSentFile(context, { dryRun: true }))
  })
}

/** Returns the handler that stores the file of a form as an import, and names the import's page. */
function importSentFile(context: DashboardContext, { dryRun }: { dryRun: boolean }) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { appId } = visitedApp(request)
    const form = request.body instanceof FileForm ? request.body : undefined
    const file = form?.file
    const refuse = (refusal: Refusal) => refuseFile(context, request, reply, refusal)
    if (form === undefined || file === undefined) return await refuse({ status: 400, problem: 'Choose a file first.' })
    try {
      const read = await readOptions(context.db, appId, form)
      if ('problem' in read) {
        dropRest(request)
        return await refuse({ status: 400, problem: `${read.problem} Nothing was imported.` })
      }
      const importId = await receiveDashboardFile(context, appId, {
        fileName: file.name.replaceAll('\0', '').toWellFormed().slice(0, longestFileName).toWellFormed(),
        requestedBy: visitorOf(request).email,
        dryRun,
        options: read.options,
        longestMs: clientPolicy.upload.totalMs,
        byteSize: sizeIn(form),
        bytes: atMost(file.bytes, limitBytes),
      })
      request.log.info({ app_id: appId, import_id: importId, by: request.visitor?.email }, 'file uploaded')
      context.wakeWorker?.(appId)
      const page = `/apps/${appId}/imports${importId === undefined ? '' : `/${importId}`}`
      return isOfScript(request) ? reply.code(201).header('Location', page).send() : reply.redirect(page, 303)
    } catch (error) {
      dropRest(request)
      if (error instanceof TooManyWaiting) {
        const problem = `${error.message}. Please try again when some of them have ended. Nothing was imported.`
        return await refuse({ status: 429, problem, held: heldAddress(request, error), retryAfter: error.retryAfter })
      }
      if (!(error instanceof FileTooLarge)) throw error
      const problem = `The file is over the limit of ${limitBytes / 2 ** 20} MB. Nothing was imported.`
      return await refuse({ status: 413, problem })
    }
  }
}

/**
 * Returns the file's size in bytes, if the page's script has added it to the form. A file of known size needs no
 * multipart upload.
 */
function sizeIn(form: FileForm): number | undefined {
  const size = form.get('byte_size') ?? ''
  return /^\d{1,10}$/.test(size) ? Number(size) : undefined
}

/** Yields the bytes of a file. Throws {@link FileTooLarge} if there are more than `maxBytes`. */
async function* atMost(bytes: Readable, maxBytes: number): AsyncGenerator<Buffer> {
  let count = 0
  for await (const chunk of bytes.iterator({ destroyOnReturn: false })) {
    count += chunk.length
    if (count > maxBytes) throw new FileTooLarge()
    yield chunk
  }
}
