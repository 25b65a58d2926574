import { Validator } from '@seriousme/openapi-schema-validator'
import { createApp, registerToken } from '@sluice/accounts'
import { buildApi } from '@sluice/api-app/src/api.ts'
import { openApiDocument } from '@sluice/api-app/src/openapi/document.ts'
import type { ApiDocument } from '@sluice/api-app/src/openapi/document-types.ts'
import { rateSettings } from '@sluice/api-app/src/rate-limiting.ts'
import { readSettings } from '@sluice/config'
import { deletionRequestSettings } from '@sluice/deletions'
import { receiveSettings } from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import { pino } from 'pino'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { openTestDatabase, type TestDatabase } from '../environment/database.ts'
import { hasProgram, runProgram } from '../environment/program.ts'
import { openTestStorage } from '../environment/storage.ts'
import { until } from '../environment/wait.ts'
import { announceBodies } from './announced-bodies.ts'
import { type ApiProcess, startApi } from './api-process.ts'
import { type Answer, type DocumentedOperation, documentCheck, operationsOf, pathOf } from './document-check.ts'
import { type InterruptedLink, openLink } from './interrupted-link.ts'
import { insertKnownRows, renewKeys, withAllKeys } from './known-rows.ts'
import { type Provocation, provocations } from './provocations.ts'
import { sendRaw } from './raw-connection.ts'

const document: ApiDocument = JSON.parse(JSON.stringify(openApiDocument('http://api.test')))
const operations = operationsOf(document)
const check = documentCheck(document)

let database: TestDatabase
let link: InterruptedLink
let api: ApiProcess
let strict: ApiProcess
let unconnected: ApiProcess
let appId: number
let token: string
beforeAll(async () => {
  database = await openTestDatabase()
  const app = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
  appId = app.appId
  token = app.apiToken
  await registerUsers(database.db, appId, ['alice'])
  await insertKnownRows(database.db, appId, operations)
  link = await openLink(database.url)
  const all = (rate: string) => ({
    ...Object.fromEntries(Object.keys(rateSettings).map((name) => [name, rate])),
    RATE_LIMIT_TIMEOUT: '10s',
  })
  const short = { API_HEADERS_TIMEOUT: '1s', API_BODY_TIMEOUT: '1s', API_UPLOAD_TIMEOUT: '1s' }
  api = await startApi(database.url, { ...all('10000/60s'), API_URL: 'http://api.test' })
  strict = await startApi(database.url, { ...all('1/600s'), ...short })
  unconnected = await startApi(link.url)
  await link.cut()
})
afterAll(async () => {
  await Promise.all([api, strict, unconnected].map((one) => one.stop()))
  await database.close()
})

/** Sends the documented example of a request, with the changes of the provocation. */
async function send(url: string, operation: DocumentedOperation, provocation: Provocation = {}): Promise<Answer> {
  const headers: Record<string, string> = operation.security.length > 0 ? { 'X-Service-Token': token } : {}
  const [example] = Object.entries(operation.requestBody?.content ?? {})
  let body = provocation.body
  if (example !== undefined) {
    const [type, { examples }] = example
    const value = examples.example?.value
    headers['Content-Type'] = type
    body ??= typeof value === 'string' ? value : JSON.stringify(value)
  }
  Object.assign(headers, provocation.headers)
  const last = operation.parameters?.findLast((each) => each.in === 'path')
  const replaced =
    last === undefined || provocation.parameter === undefined ? {} : { [last.name]: provocation.parameter }
  const path = pathOf(operation, replaced) + (provocation.query ?? '')
  // `fetch` would replace a length that differs from the body's.
  if ('Content-Length' in headers) return await sendHead(url, operation.method, path, headers)
  const answer = await fetch(url + path, {
    method: operation.method,
    headers,
    redirect: 'manual',
    ...(body !== undefined && { body: typeof body === 'string' ? body : new Uint8Array(body) }),
  })
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() }
}

async function sendHead(url: string, method: string, path: string, headers: Record<string, string>): Promise<Answer> {
  const lines = Object.entries({ Host: 'x', Connection: 'close', ...headers }).map(
    ([key, value]) => `${key}: ${value}\r\n`,
  )
  return answered(await sendRaw(url, [`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`]))
}

function answered({
  status = 0,
  headers,
  body,
}: {
  status: number | undefined
  headers: Record<string, string>
  body: string
}): Answer {
  return { status, headers, body }
}

/** Returns the status and value of a documented error example, found by its name. */
function exampleOf(operation: DocumentedOperation, name: string): { status: number; value: unknown } {
  for (const [status, { content = {} }] of Object.entries(operation.responses)) {
    for (const { examples } of Object.values(content)) {
      const example = examples[name]
      if (example !== undefined) return { status: Number(status), value: example.value }
    }
  }
  throw new Error(`${operation.operationId} has no example ${name}`)
}

function parsed({ headers, body }: Answer): unknown {
  return headers['content-type']?.startsWith('application/json') ? JSON.parse(body) : body
}

const rateHeaders = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset']
/** Operations that work without the database. */
const documents = [
  'getDocument',
  'getDocs',
  'getApiPage',
  'getApiMarkdown',
  'getGuidePage',
  'getGuideMarkdown',
  'getLlmsText',
]
const independent = new Set(['isLive', 'getMetrics', ...documents, 'getRoot'])
const withToken = operations.filter(({ security }) => security.length > 0)
const byId = (list: readonly DocumentedOperation[]) =>
  list.map((operation) => [operation.operationId, operation] as const)

describe('the document', () => {
  test('is valid OpenAPI 3.1, and is what the API serves', async () => {
    expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true })
    expect(await (await fetch(`${api.url}/openapi.json`)).json()).toEqual(document)
  })

  // service.md, Versioning.
  test('has exactly the routes of the API', async () => {
    const settings = readSettings({}, [...deletionRequestSettings, ...receiveSettings])
    const storage = openTestStorage()
    const log = pino({ level: 'silent' })
    const built = buildApi({ db: database.db, storage, apiUrl: 'http://api.test', settings, log })
    await built.ready()
    for (const { method, path } of operations) {
      const route = { method, url: path.replace(/\{(\w+)\}/g, ':$1') }
      expect(built.findRoute(route), `${method} ${path}`).not.toBeNull()
    }
    const methods = built.printRoutes({ commonPrefix: false }).match(/\((?:[A-Z]+(?:, )?)+\)/g) ?? []
    const methodNames = methods.flatMap((list) => list.replace(/[()]/g, '').split(', '))
    const [heads, others] = [true, false].map((isHead) => methodNames.filter((name) => (name === 'HEAD') === isHead))
    expect(others).toHaveLength(operations.length)
    // HEAD is documented once for all.
    expect(heads).toHaveLength(operations.filter(({ method }) => method === 'GET').length)
    await built.close()
    storage.close()
  })

  test.each(byId(operations))(
    '%s: each parameter and body has examples, and they match its schema',
    (_, { parameters = [], requestBody, responses }) => {
      for (const { name, schema, example } of parameters) check.matches(schema, example, name)
      for (const { content = {} } of [...Object.values(responses), requestBody ?? {}]) {
        for (const { schema, examples } of Object.values(content)) {
          expect(examples).not.toEqual({})
          for (const [key, { value }] of Object.entries(examples)) check.matches(schema, value, key)
        }
      }
    },
  )

  // second-day.md, Extensions.
  test('marks extensions of the documented service, in the text too', () => {
    const marked = operations.filter((operation) => operation['x-sluice-extension'])
    const described = operations.filter(({ description }) => description.startsWith('Extension of Sluice.'))
    expect(marked).toEqual(described)
    const documented = operations.filter((operation) => !marked.includes(operation))
    expect(documented.map(({ method, path }) => `${method} ${path}`).sort()).toEqual([
      'POST /v2/user_profiles',
      'POST /v2/user_profiles/bulk_import',
      'POST /v3/user_data_deletions',
      'POST /v3/user_profiles/bulk_import',
    ])
  })

  test.each(['requestBulkImport', 'bulkImportV2'])('%s says what a row with fewer values than columns means', (id) => {
    const operation = operations.find(({ operationId }) => operationId === id)
    expect(operation?.description).toMatch(/fewer values than columns: missing values count as empty.* stay unchanged/)
  })

  test('the HTML page shows every operation with its examples, loads nothing and runs only its own script', async () => {
    const answer = await fetch(`${api.url}/docs`)
    const page = await answer.text()
    for (const { path, summary, operationId } of operations) {
      expect(page).toContain(path)
      for (const language of ['curl', 'JavaScript', 'Python'])
        expect(page).toContain(`<details name="sample-${operationId}" data-language="${language}"`)
      expect(page).toContain(summary.replaceAll("'", '&#39;'))
    }
    expect(page.match(/<script/g)).toHaveLength(1)
    expect(page).not.toMatch(/<script |<link|<img|<iframe|\son\w+=|style=|src=|url\(/i)
    expect(answer.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+';/,
    )
  })

  test.for([
    ['curl', 'sh', ['-c']],
    ['JavaScript', process.execPath, ['--input-type=module', '-e']],
    ['Python', 'python3', ['-c']],
  ] as const)('the examples in %s work as written', async ([language, program, args], { skip }) => {
    const needed = program === 'sh' ? 'curl' : program
    if (!(await hasProgram(needed))) return skip(`there is no ${needed}`)
    for (const id of ['registerUsers', 'updateProfile', 'getUser', 'removeValue']) {
      const samples = operations.find(({ operationId }) => operationId === id)?.['x-codeSamples'] ?? []
      const source = samples.find(({ label }) => label === language)?.source.replace('http://api.test', api.url) ?? ''
      const env = { PATH: process.env.PATH ?? '', TOKEN: token }
      expect((await runProgram(program, [...args, source], { env })).output, source).toMatch(/\b20[024]\b/)
    }
  })

  test.each(['curl', 'JavaScript', 'Python'])(
    'the examples in %s send the method and headers of the route',
    (language) => {
      for (const { method, security, parameters = [], requestBody, 'x-codeSamples': samples = [] } of operations) {
        const source = samples.find(({ label }) => label === language)?.source ?? ''
        const hasKey = parameters.some(({ name }) => name === 'Idempotency-Key')
        expect(source.includes('X-Service-Token'), source).toBe(security.length > 0)
        expect(source.includes('Idempotency-Key'), source).toBe(hasKey)
        expect(source.includes('Content-Type'), source).toBe(requestBody !== undefined)
        const implied = language === 'curl' && requestBody !== undefined ? 'POST' : 'GET'
        if (method !== implied) expect(source).toMatch(new RegExp(`(?:-X |method(?:: |=)")${method}`))
      }
    },
  )

  test.each(['openapi.json', 'docs'])('a client that has /%s gets 304', async (path) => {
    const etag = (await fetch(`${api.url}/${path}`)).headers.get('etag') ?? ''
    for (const [tags, status] of [
      [etag, 304],
      [`"old", W/${etag}`, 304],
      ['"old"', 200],
    ] as const) {
      const answer = await fetch(`${api.url}/${path}`, { headers: { 'If-None-Match': tags } })
      expect([tags, answer.status, answer.headers.get('etag')]).toEqual([tags, status, etag])
    }
  })

  test('the address of the API leads to the page', async () => {
    const answer = await fetch(`${api.url}/?from=elsewhere`)
    expect(answer.url).toBe(`${api.url}/docs`)
    expect(answer.headers.get('content-type')).toContain('text/html')
  })
})

describe('answers are as documented', () => {
  const cases = Object.entries(provocations).flatMap(([id, own]) =>
    Object.entries(own).map(([key, provocation]) => [id, key, provocation] as const),
  )

  // design.md §3, Error file; design.md §3, Rate limits; changes.md §1, The changes file; changes.md §3, Asking for it.
  test.each(cases)('%s, %s', async (id, key, provocation) => {
    const operation = operations.find(({ operationId }) => operationId === id)
    if (operation === undefined) throw new Error(`there is no operation ${id}`)
    if (key === 'idempotency_key_in_flight') await renewKeys(database.db)
    const provoke = () => send(api.url, operation, provocation)
    const needsAllKeys = `${id} ${key}` === 'changeProfileKey too_many_keys'
    const answer = await (needsAllKeys ? withAllKeys(database.db, appId, provoke) : provoke())
    check.answer(operation, answer)
    if (/^\d+$/.test(key)) expect(answer.status).toBe(Number(key))
    else expect({ status: answer.status, value: parsed(answer) }).toEqual(exampleOf(operation, key))
    expect(answer.headers).toHaveProperty('x-request-id')
    if (operation.security.length > 0) for (const header of rateHeaders) expect(answer.headers).toHaveProperty(header)
  })

  // service.md, Authentication 1; design.md §3, Token missing.
  test.each(byId(withToken))(
    '%s without a token, with a wrong one, and with one that was replaced',
    async (_, operation) => {
      const replaced = (await createApp(database.db, { name: 'Test', email: 'member@example.com' })).apiToken
      await registerToken(database.db, Number(replaced.split('_')[1]))
      for (const [sent, key] of [
        ['', 'no_token'],
        ['x', 'invalid_token'],
        [replaced, 'invalid_token'],
      ] as const) {
        const answer = await send(api.url, operation, { headers: { 'X-Service-Token': sent } })
        check.answer(operation, answer)
        expect({ status: answer.status, value: parsed(answer) }).toEqual(exampleOf(operation, key))
        for (const header of rateHeaders) expect(answer.headers).not.toHaveProperty(header)
      }
    },
  )

  test.each(byId(withToken))('%s over the rate limit', async (_, operation) => {
    await send(strict.url, operation)
    const answer = await send(strict.url, operation)
    check.answer(operation, answer)
    expect(answer.status).toBe(429)
    for (const header of rateHeaders) expect(answer.headers).toHaveProperty(header)
  })

  test('requests while the app has too many bytes in flight', async () => {
    const bodies = announceBodies(api.url, token)
    onTestFinished(() => bodies.release())
    const withBody = operations.filter(({ requestBody }) => requestBody !== undefined)
    for (const operation of withBody) {
      const answer = await until(`the refusal of ${operation.operationId}`, async () => {
        await bodies.announce()
        const answer = await send(api.url, operation)
        return answer.status === 503 && answer
      })
      check.answer(operation, answer)
      expect(parsed(answer)).toEqual(exampleOf(operation, 'too_many_bodies').value)
    }
  })

  test.each(byId(operations))('%s during an outage of the database', async (id, operation) => {
    const answer = await send(unconnected.url, operation, { ...provocations[id]?.[302] })
    check.answer(operation, answer)
    if (independent.has(id)) expect(answer.status).toBeLessThan(400)
    else {
      const key = id === 'isReady' ? 'unavailable' : 'our_fault'
      expect({ status: answer.status, value: parsed(answer) }).toEqual(exampleOf(operation, key))
    }
  })

  test.concurrent.each(byId(operations))(
    '%s to a request that is not HTTP, too large or too slow',
    async (_, operation) => {
      const line = `${operation.method} ${pathOf(operation)} HTTP/1.1\r\nHost: x\r\n`
      // Only the last request may be too slow, however busy the machine is.
      const broken = [
        ['not_http', api, `${line}broken\r\n\r\n`],
        ['large_headers', api, `${line}X-Long: ${'x'.repeat(20_000)}\r\n\r\n`],
        ['too_slow', strict, line],
      ] as const
      for (const [key, to, request] of broken) {
        const answer = answered(await sendRaw(to.url, [request]))
        check.answer(operation, answer)
        expect({ status: answer.status, value: parsed(answer) }).toEqual(exampleOf(operation, key))
      }
    },
  )

  test('every documented answer is provoked', () => {
    const common = ['no_token', 'invalid_token', 'too_many', 'our_fault', 'not_http', 'too_slow', 'large_headers']
    const others = [...common, 'unavailable', 'too_many_bodies']
    const left = operations.flatMap(({ operationId, responses }) => {
      const provoked = [...Object.keys(provocations[operationId] ?? {}), ...others]
      const answers = Object.entries(responses).flatMap(([status, { content = {} }]) =>
        Number(status) < 400 ? [status] : Object.values(content).flatMap(({ examples }) => Object.keys(examples)),
      )
      return answers.filter((name) => !provoked.includes(name)).map((name) => `${operationId} ${name}`)
    })
    expect(left).toEqual([])
  })
})
