import { createApp } from '@sluice/accounts'
import { openApiDocument } from '@sluice/api-app/src/openapi/document.ts'
import type { ApiDocument } from '@sluice/api-app/src/openapi/document-types.ts'
import { rateSettings } from '@sluice/api-app/src/rate-limiting.ts'
import { registerUsers } from '@sluice/profiles'
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import { type ApiProcess, startApi } from './api-process.ts'
import { type Answer, type DocumentedOperation, documentCheck, operationsOf } from './document-check.ts'
import { type GeneratedRequest, requestsOf } from './generated-requests.ts'
import { insertKnownRows } from './known-rows.ts'

// Requests to all routes, generated from the document: an example with one change.
const document: ApiDocument = JSON.parse(JSON.stringify(openApiDocument('http://api.test')))
const operations = operationsOf(document)
const byId = new Map(operations.map((operation) => [operation.operationId, operation]))
const check = documentCheck(document)

let api: ApiProcess
let token: string
beforeAll(async () => {
  const database = await openTestDatabase()
  const app = await createApp(database.db, { name: 'Test', email: 'member@example.com' })
  token = app.apiToken
  await registerUsers(database.db, app.appId, ['alice'])
  await insertKnownRows(database.db, app.appId, operations)
  api = await startApi(database.url, {
    ...Object.fromEntries(Object.keys(rateSettings).map((name) => [name, '100000/60s'])),
    PROFILE_KEY_LIMIT: '100000',
    WAITING_IMPORTS_LIMIT: '100000',
  })
  return async () => {
    await api.stop()
    await database.close()
  }
})

async function send({ method }: DocumentedOperation, { path, headers, body }: GeneratedRequest): Promise<Answer> {
  const answer = await fetch(api.url + path, {
    method,
    headers: { 'X-Service-Token': token, ...headers },
    redirect: 'manual',
    ...(body !== undefined && { body }),
  })
  return { status: answer.status, headers: Object.fromEntries(answer.headers), body: await answer.text() }
}

const requests = fc
  .constantFrom(...operations)
  .chain((operation) => requestsOf(operation, document).map((request) => ({ id: operation.operationId, request })))

const allRuns = 1_200

/** Long enough for 20,000 requests (docs/testing.md). */
const timeout = 20 * 60_000

test('each generated request gets a documented answer below 500, and a refusal names what was changed', {
  timeout,
}, async () => {
  const seen = new Map<string, Set<number>>()
  const property = fc.asyncProperty(requests, async ({ id, request }) => {
    const operation = byId.get(id)
    if (operation === undefined) throw new Error(id)
    const answer = await send(operation, request)
    seen.set(id, (seen.get(id) ?? new Set()).add(answer.status))
    expect(answer.status, answer.body).toBeLessThan(500)
    check.answer(operation, answer)
    if (![400, 409, 422].includes(answer.status) || request.names.length === 0) return
    const messages: string[] = JSON.parse(answer.body).error.messages
    const isNamed = messages.some((message) => request.names.some((name) => namedIn(message, name)))
    expect(isNamed, `${JSON.stringify(messages)} names none of ${request.names}`).toBe(true)
  })
  const runs = propertyRuns(allRuns)
  await fc.assert(property, { numRuns: runs })
  // With fewer runs, an operation may happen to get valid requests only.
  if (runs < allRuns) return
  for (const { operationId, requestBody } of operations) {
    expect(seen.has(operationId), operationId).toBe(true)
    if (requestBody !== undefined) expect([...(seen.get(operationId) ?? [])], operationId).toContain(400)
  }
})

/** Whether a message contains a name. Messages shorten long names, and replace characters that cannot be stored. */
function namedIn(message: string, name: string): boolean {
  const shown = name.replaceAll('\0', '\ufffd').toWellFormed()
  return message.toLowerCase().includes([...shown].slice(0, 32).join('').toLowerCase())
}
