import { expect, test } from 'vitest'
import { startCollector } from './collector.ts'
import { expectRoutesOnly, useSecrets } from './trace-secrets.ts'
import { startTracedApps } from './traced-apps.ts'

// Each process takes seconds to start on a busy machine, so one process runs all apps here.
// traces-secrets.long.test.ts has a process for each app.
test('traces of all apps contain routes, but no secret of a link, token or signature', async () => {
  const collector = await startCollector()
  const apps = await startTracedApps(collector.url, { processes: 'one' })
  const { secrets, importId } = await useSecrets(apps)
  await apps.stop()
  expectRoutesOnly(collector.spans, secrets)
  const ofImport = collector.spans.filter(({ traceId }) => traceId === importId.replaceAll('-', ''))
  const namesOf = (spans: typeof ofImport) => spans.map(({ name }) => name)
  // Spans of the API and of the worker, and of the S3 gateway, which has no routes.
  expect(namesOf(ofImport)).toEqual(expect.arrayContaining(['import requested', 'import']))
  expect(namesOf(collector.spans.filter(({ kind }) => kind === 2))).toContain('GET')
})
