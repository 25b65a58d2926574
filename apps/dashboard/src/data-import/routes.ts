import type { Readable } from 'node:stream'
import { limits } from '@sluice/contract'
import { receiveUpload } from '@sluice/imports'
import { registeredKeys } from '@sluice/profiles'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { visitedApp } from '../access/guard.ts'
import type { PageRoutes } from '../context.ts'
import { FileForm, FileTooLarge, parseFileForms } from './file-form.ts'
import { sendDataImport } from './page.ts'

/** How long an upload may take, ms: as long as any request. */
const longestUpload = 600_000

/** Uploads at a time in one process: each takes some megabytes. */
const mostUploads = 20

/** Characters of a file's name that are kept. */
const nameLength = 255

/** Data import: a file from the browser goes to storage as it comes, and into the app's line (service.md, Endpoints, 4). */
export const dataImportRoutes: PageRoutes = (dashboard, context) => {
  let uploads = 0

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
    if (uploads >= mostUploads) {
      dropRest(request)
      return await refuse(503, 'Too many files are being uploaded at the moment. Please try again in a minute.')
    }
    uploads++
    try {
      const fileName = file.name.replaceAll('\0', '').toWellFormed().slice(0, nameLength).toWellFormed()
      const upload = {
        fileName,
        dryRun,
        longest: longestUpload,
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
      if (!(error instanceof FileTooLarge)) throw error
      return await refuse(
        413,
        `The file is over the limit of ${limits.uploadBytesDashboard / 2 ** 20} MB. Nothing was imported.`,
      )
    } finally {
      uploads--
    }
  }

  dashboard.register(async (scope) => {
    parseFileForms(scope, limits.uploadBytesDashboard)
    scope.post('/apps/:appId/data-import', take(false))
    scope.post('/apps/:appId/data-import/dry-run', take(true))
  })
}

/** The file's size (bytes) by the form, which the script of the page fills in: it saves storing the file in parts. */
function sizeIn(form: unknown): number | undefined {
  const size = form instanceof FileForm ? (form.get('byte_size') ?? '') : ''
  return /^\d{1,10}$/.test(size) ? Number(size) : undefined
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
