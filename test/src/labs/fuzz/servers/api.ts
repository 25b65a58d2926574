import { gzipSync } from 'node:zlib'
import { openApiDocument } from '@sluice/api-app/src/openapi/document.ts'
import { type DocumentedOperation, operationsOf, pathOf } from '../../../api-limits/document-check.ts'
import { type App, declare, requestImport } from '../../../stack/client.ts'
import type { FuzzedServer, FuzzRequest } from './request.ts'

const file = Buffer.from('user_id,age,name\nu1,34,Ann\n"u2",x,"a ""b"""\n')

/** Opens the API, with the documented example of each operation. */
export function fuzzedApi(url: string, app: App): FuzzedServer {
  const document = openApiDocument(url)
  let importId = ''
  return {
    name: 'api',
    url,
    dictionary: [
      ...[
        '{',
        '}',
        '[',
        ']',
        '"',
        ',',
        ':',
        'null',
        '1e999',
        '\\u0000',
        '\\ud800',
        '{"a":'.repeat(50),
        '"__proto__":{}',
      ],
      ...['application/json', 'text/csv', 'application/gzip', 'multipart/form-data', '; charset=', 'X-Service-Token: '],
      ...['user_id', 'Idempotency-Key: ', '/v3/', '/v2/', '/v1/', 'limit=0', 'cursor='],
    ],
    async validRequests() {
      // Generated first requests may have used up the limit. The preceding import then serves as an example again.
      const requested = await requestImport(url, app.token, declare(file)).catch(() => ({ importId }))
      importId = requested.importId
      return [...operationsOf(document).map((operation) => exampleOf(operation, app, importId)), ...filesOf(app)]
    },
  }
}

function exampleOf(operation: DocumentedOperation, { token }: App, importId: string): FuzzRequest {
  const [[type, content] = []] = Object.entries(operation.requestBody?.content ?? {})
  const example = content?.examples.example?.value
  const body = example === undefined ? '' : type === 'application/json' ? JSON.stringify(example) : String(example)
  const headers = { 'X-Service-Token': token, ...(type !== undefined && { 'Content-Type': type }) }
  const target = pathOf(operation, { import_id: importId, id: importId, user_id: 'u1' })
  return { method: operation.method, target, headers, body: Buffer.from(body) }
}

/** Files of v2, plain and compressed. */
function filesOf({ token }: App): FuzzRequest[] {
  const send = (type: string, body: Buffer): FuzzRequest => {
    const headers = { 'X-Service-Token': token, 'Content-Type': type }
    return { method: 'POST', target: '/v2/user_profiles/bulk_import', headers, body }
  }
  return [send('text/csv', file), send('application/gzip', gzipSync(file))]
}
