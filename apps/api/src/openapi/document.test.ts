import { expect, test } from 'vitest'
import { openApiDocument } from './document.ts'

test('the document requires each body, but not the one whose description says what no body means', () => {
  const operations = Object.values(openApiDocument('http://api.test').paths).flatMap((path) => Object.values(path))
  const optional = operations.filter(({ requestBody }) => requestBody?.required === false)
  expect(optional.map(({ operationId }) => operationId)).toEqual(['undoImport'])
  expect(optional[0]?.requestBody?.description).toContain('No body means')
})
