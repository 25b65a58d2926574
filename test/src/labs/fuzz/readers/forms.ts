import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { IncomingMessage } from 'node:http'
import { Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { openCookies } from '@sluice/dashboard-app/src/access/cookies.ts'
import { readFileForm } from '@sluice/dashboard-app/src/data-import/file-form.ts'
import type { FastifyRequest } from 'fastify'
import { outcomeOf, pieces, type Target } from './target.ts'

const type = 'multipart/form-data; boundary='

/**
 * Fuzzes the reader of forms with a file. It refuses a form, or returns the same fields and file however the form is
 * split.
 */
export const multipartForm: Target = {
  name: 'multipart-form',
  dictionary: [
    ...['\r\n', '--b', '--b--', '\r\n--b\r\n', '\r\n--b--\r\n', 'Content-Disposition: form-data; name="file"'],
    ...['; filename="a.csv"', "; filename*=utf-8''a%ff", '; name="', 'Content-Type: text/csv', '\r\n\r\n', '"', ';'],
    ...['=', 'Content-Transfer-Encoding: base64', 'charset=utf-16', '\0', 'name=__proto__'],
  ],
  seeds: ['filename="people.csv"', 'filename=""', "filename*=utf-8''%C3%A9.csv"].map(
    (name) =>
      `b\n--b\r\nContent-Disposition: form-data; name="form_token"\r\n\r\nabc\r\n--b\r\nContent-Disposition: form-data; name="file"; ${name}\r\nContent-Type: text/csv\r\n\r\nuser_id\nalice\n\r\n--b--\r\n`,
  ),
  async check(input, random) {
    // The first line is the boundary.
    const end = Math.max(0, input.indexOf('\n'))
    const boundary = input.toString('latin1', 0, end)
    const body = input.subarray(end + 1)
    const whole = await readForm([body], boundary)
    assert.deepEqual(await readForm(pieces(body, random), boundary), whole)
  },
}

async function readForm(chunks: readonly Buffer[], boundary: string) {
  const request = new IncomingMessage(new Socket())
  request.complete = true
  return await outcomeOf(
    async () => {
      const reading = readFileForm(request, `${type}${boundary}`)
      for (const chunk of chunks) request.push(chunk)
      request.push(null)
      const form = await reading
      const { file } = form
      const bytes = file && (await buffer(file.bytes).catch(() => 'broken'))
      return { fields: [...form], file: file?.name, bytes: bytes?.toString('latin1') }
    },
    (error) => (error instanceof Error && error.name === 'BrokenForm' ? 'broken' : undefined),
  )
}

const key = 'a key of the tests'
const digest = (purpose: string, text: string) => createHmac('sha256', key).update(`${purpose}\0${text}`).digest()
const signer = {
  sign: async (purpose: string, text: string) => digest(purpose, text).toString('base64url'),
  verify: async (purpose: string, text: string, signature: string) =>
    digest(purpose, text).equals(Buffer.from(signature, 'base64url')),
}
const cookies = openCookies(signer, 'http://dashboard.test')
const session = 'c2Vzc2lvbg'
const signed = `sluice_session=${session}.${digest('cookie session', session).toString('base64url')}`

/** Fuzzes the reader of cookies. It accepts only cookies that the dashboard signed. */
export const signedCookies: Target = {
  name: 'cookies',
  dictionary: ['sluice_session=', ';', '; ', '=', '.', '"', '%', '%00', '%ff', ',', session, '__proto__=', '\t'],
  seeds: [signed, `a=b; ${signed}; c="d"`],
  async check(input) {
    const request = { headers: { cookie: input.toString('latin1') } } as FastifyRequest
    for (const name of ['session', 'form', '__proto__']) {
      const text = await cookies.read(request, name)
      assert(text === undefined || (name === 'session' && text === session), 'a cookie is accepted that nobody signed')
    }
  },
}
