import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'
import { Busboy } from '@fastify/busboy'
import type { FastifyInstance } from 'fastify'

/** A form with a file in it, which is still coming: it stands behind the fields. */
export class FileForm extends URLSearchParams {
  file: { name: string; bytes: Readable } | undefined
}

/** The file is larger than it may be. */
export class FileTooLarge extends Error {
  override readonly name = 'FileTooLarge'
  readonly statusCode = 413
}

/** The form is none, or its sender broke off. */
class BrokenForm extends Error {
  override readonly name = 'BrokenForm'
  readonly statusCode = 400
}

/** What stands around the file in a body, bytes at most. */
const framing = 65_536

/**
 * Has the forms of a scope parsed that carry a file. A handler gets the {@link FileForm} as soon as the file begins, and reads it
 * as it comes; nothing of it is kept.
 *
 * Takes the size (bytes) above which a file is refused by what the request says of its length.
 */
export function parseFileForms(scope: FastifyInstance, limit: number): void {
  scope.removeAllContentTypeParsers()
  scope.addContentTypeParser('multipart/form-data', (request, body, done) => {
    if (Number(request.headers['content-length']) > limit + framing) {
      body.resume()
      return done(new FileTooLarge())
    }
    readForm(body, String(request.headers['content-type'])).then(
      (form) => done(null, form),
      (error: Error) => {
        body.resume()
        done(error)
      },
    )
  })
}

/** Reads up to the file, or to the end where there is none. */
function readForm(body: IncomingMessage, contentType: string): Promise<FileForm> {
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
      // A form without a choice has a part without a name.
      if (!fileName) return bytes.resume()
      form.file = { name: fileName, bytes }
      bytes.on('error', () => {}) // whoever reads it hears of it
      resolve(form)
    })
    parser.on('finish', () => resolve(form))
    parser.on('error', () => fail(new BrokenForm('the form cannot be read')))
    body.on('close', () => {
      if (!body.complete) fail(new BrokenForm('the sender broke off'))
    })
    body.on('error', () => {})
    body.pipe(parser)
  })
}

function openParser(contentType: string): InstanceType<typeof Busboy> {
  try {
    const limits = { fields: 5, fieldSize: 1024, files: 1, parts: 6, headerPairs: 20 }
    return new Busboy({ headers: { 'content-type': contentType }, limits })
  } catch {
    throw new BrokenForm('the form has no boundary')
  }
}
