import { expect, test } from 'vitest'
import { startCollector } from './collector.ts'
import { expectRoutesOnly, useSecrets } from './trace-secrets.ts'
import { startTracedApps } from './traced-apps.ts'

test('traces of all apps contain routes, but no secret of a link, token or signature', async () => {
  const collector = await startCollector()
  const apps = await startTracedApps(collector.url)
  const { secrets, importId } = await useSecrets(apps)
  await apps.stop()
  expectRoutesOnly(collector.spans, secrets)
  // traces.long.test.ts has what the trace of an import contains.
  const ofImport = collector.spans.filter(({ traceId }) => traceId === importId.replaceAll('-', ''))
  const namesOf = (spans: typeof ofImport) => spans.map(({ name }) => name)
  expect(namesOf(ofImport)).toEqual(expect.arrayContaining(['import requested', 'import']))
  // The S3 gateway has no routes.
  expect(namesOf(collector.spans.filter(({ kind }) => kind === 2))).toContain('GET')
  expect(new Set(ofImport.map(({ service }) => service))).toEqual(new Set(['sluice-api', 'sluice-worker']))
  expect(collector.spans.map(({ service }) => service)).toContain('sluice-s3-gateway')
})
