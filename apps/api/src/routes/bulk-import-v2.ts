import type { IncomingHttpHeaders } from 'node:http'
import { type ErrorAnswer, errors, limits, type TextAnswer } from '@sluice/contract'
import { type ReceivedImport, receiveV2File } from '@sluice/imports'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { answer } from '../answers.ts'
import { appOf, authentication } from '../authentication.ts'
import type { ApiContext } from '../context.ts'
import { hashedBody, responseRecorder } from '../keyed-request.ts'
import { isEncoded, readMediaType } from '../media-type.ts'
import { streamBody } from '../request-body.ts'

const path = '/v2/user_profiles/bulk_import'
const successor = '/v3/user_profiles/bulk_import'

/**
 * The date in service.md, Versioning. `Deprecation` needs Unix time (RFC 9745), and `Sunset` an HTTP date (RFC 8594).
 */
const deprecation = '@1630368000'
const sunset = 'Tue, 31 Aug 2021 00:00:00 GMT'

/**
 * Adds the deprecated bulk import v2, which receives the file as the body of the request (service.md, Endpoints, 5).
 */
export function bulkImportV2Routes(api: FastifyInstance, context: ApiContext): void {
  const deprecate = async (_: FastifyRequest, reply: FastifyReply) => {
    const link = `<${context.apiUrl}${successor}>; rel="successor-version"`
    reply.headers({ Deprecation: deprecation, Sunset: sunset, Link: link })
  }
  const onRequest = [deprecate, authentication(context)]

  api.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // The handler reads the body.
    scope.addContentTypeParser('*', (_request, _body, done) => done(null))
    // Precedes fastify's check of the type, which would answer a malformed type in another form.
    scope.addHook('preParsing', (request, reply, body, done) => {
      const refusal = refusalOf(request.headers)
      if (refusal === undefined) done(null, body)
      else answer(reply, refusal)
    })
    const config = { upload: true, idempotency: {}, audit: { nothing: 'the import is the record' } }
    scope.post(path, { onRequest, config }, (request, reply) => receive(request, reply, context))
  })
}

/** Returns the answer that refuses a file because of its headers; undefined if the headers are valid. */
function refusalOf(headers: IncomingHttpHeaders): ErrorAnswer | TextAnswer | undefined {
  if (fileType(headers) === undefined) return errors.unsupportedFileType()
  if (Number(headers['content-length']) > limits.uploadBytesV2) return errors.bodyTooLarge(limits.uploadBytesV2)
  return undefined
}

function fileType(headers: IncomingHttpHeaders): 'text/csv' | 'application/gzip' | undefined {
  const media = readMediaType(headers['content-type'])
  if (media === undefined || !media.isUtf8 || isEncoded(headers)) return undefined
  return media.type === 'text/csv' || media.type === 'application/gzip' ? media.type : undefined
}

async function receive(request: FastifyRequest, reply: FastifyReply, context: ApiContext): Promise<FastifyReply> {
  const contentType = fileType(request.headers)
  if (contentType === undefined) return answer(reply, errors.unsupportedFileType())
  const length = request.headers['content-length']
  const record = responseRecorder(request)
  const file = {
    contentType,
    byteSize: length === undefined ? undefined : Number(length),
    content: hashedBody(request, streamBody(request.raw, limits.uploadBytesV2)),
  }
  const received = await receiveV2File(context, appOf(request), file, (tx, queued) =>
    record?.(tx, { status: 202, body: typesAnswer(queued), importId: queued.importId }),
  )
  if ('refused' in received) return answer(reply, errors.fileRefused(received.refused))
  request.log.info({ app_id: request.appId, import_id: received.importId }, 'file received')
  return reply.code(202).header('X-Import-Id', received.importId).send(typesAnswer(received))
}

function typesAnswer({ types }: ReceivedImport) {
  return { user_profile: Object.fromEntries([...types].map(([column, type]) => [column, { type }])) }
}
