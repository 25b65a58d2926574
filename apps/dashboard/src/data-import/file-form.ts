import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import { continueBody } from '@sluice/service'
import type { FastifyInstance } from 'fastify'
import { longestTypesField } from './form-options.ts'

/** A form with a file, whose bytes still arrive. Only the fields that precede the file are available. */
export class FileForm extends URLSearchParams {
  file: { name: string; bytes: Readable } | undefined
}

/** The file exceeds the limit. */
export class FileTooLarge extends Error {
  override readonly name = 'FileTooLarge'
  readonly statusCode = 413
}

/** The body is not a valid form, or the sender closed the connection early. */
class BrokenForm extends Error {
  override readonly name = 'BrokenForm'
  readonly statusCode = 400
}

/** Maximum number of bytes of a body in addition to the file: its fields, headers and boundaries. */
const framingBytes = 65_536 + longestTypesField

/**
 * Adds a parser of forms with a file to a scope. A handler gets the {@link FileForm} as soon as the file begins, and
 * reads the file as a stream. The parser buffers no file.
 *
 * A request whose declared length exceeds `limitBytes` is refused without reading it.
 */
export function parseFileForms(scope: FastifyInstance, limitBytes: number): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('multipart/form-data', (request, body, done) => {
    if (Number(request.headers['content-length']) > limitBytes + framingBytes) {
      body.resume()
      return done(new FileTooLarge())
    }
    continueBody(request.raw)
    readFileForm(body, String(request.headers['content-type'])).then(
      (form) => done(null, form),
      (error: Error) => {
        body.resume()
        done(error)
      },
    )
  })
}

/**
 * Reads a form up to its file, or to the end if it has no file. Throws {@link BrokenForm} if the body is not a valid
 * form. If it breaks within the file, reading the file throws.
 */
export function readFileForm(body: IncomingMessage, contentType: string): Promise<FileForm> {
  const form = new FileForm()
  return new Promise((resolve, reject) => {
    const parser = openParser(contentType)
    const fail = (error: Error) => {
      body.unpipe(parser)
      form.file?.bytes.destroy(error)
      reject(error)
    }
    parser.on('field', (name, value) => form.set(name, value))
    parser.on('file', (_, bytes, fileName) => {
      // The reader of the file gets the error. Without a handler, a body that ends within the part would end the
      // process.
      bytes.on('error', () => {})
      // If no file was chosen, browsers send a part without a file name.
      if (!fileName) return bytes.resume()
      form.file = { name: fileName, bytes }
      resolve(form)
    })
    parser.on('finish', () => resolve(form))
    parser.on('error', () => fail(new BrokenForm('the form cannot be read')))
    const failIfCut = () => {
      if (!body.complete) fail(new BrokenForm('the sender closed the connection early'))
    }
    // The sender may have left while the upload waited for its turn.
    if (body.closed) return failIfCut()
    body.on('close', failIfCut)
    body.on('error', () => {})
    body.pipe(parser)
  })
}

function openParser(contentType: string): InstanceType<typeof Busboy> {
  try {
    const limits = { fields: 12, fieldSize: longestTypesField, files: 1, parts: 13, headerPairs: 20 }
    return new Busboy({ headers: { 'content-type': contentType }, limits })
  } catch {
    throw new BrokenForm('the form has no boundary')
  }
}
