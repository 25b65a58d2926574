import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { nodeEnvironment, runProgram } from '../environment/program.ts'
import { startCollector } from './collector.ts'

// traces-secrets.long.test.ts has the requests of all apps.
// design.md §4, Isolation.
test('the spans of a request, at its server and at its client, contain nothing of its address', async () => {
  const collector = await startCollector()
  const register = new URL('../../../packages/process/traces/src/register.ts', import.meta.url).href
  const fixture = fileURLToPath(new URL('traced-request.fixture.ts', import.meta.url))
  const env = { ...nodeEnvironment, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  const args = [`--import=${register}`, fixture, '/links/sesame?key=sesame']
  expect(await runProgram(process.execPath, args, { env })).toEqual({ code: 0, output: '' })
  expect(collector.spans.map(({ kind, name }) => [kind, name]).toSorted()).toEqual([
    [2, 'GET'],
    [3, 'GET'],
  ])
  expect(JSON.stringify(collector.spans)).not.toContain('sesame')
})
