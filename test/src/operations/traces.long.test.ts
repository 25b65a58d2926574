import { expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { openClientApp, upload } from '../faults/harness/client.ts'
import { untilAllEnded } from '../faults/harness/comparison.ts'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'
import { generateSoundFile } from '../faults/harness/generate.ts'
import { startCollector } from './collector.ts'

const register = new URL('../../../packages/process/traces/src/register.ts', import.meta.url).href

test('an import has one trace with its own ID, from the request through the worker to Postgres and storage', async () => {
  const collector = await startCollector()
  const deployment = await start({ NODE_OPTIONS: `--import=${register}`, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url })
  const app = await openClientApp(deployment)
  const importId = await upload(deployment, app, generateSoundFile(seeded(1), 1, 300))
  await untilAllEnded(deployment, [app], 60_000)
  await deployment.stopApps()

  const ofImport = collector.spans.filter(({ traceId }) => traceId === importId.replaceAll('-', ''))
  const seen = (service: string, pattern: RegExp) =>
    ofImport.some((span) => span.service === `sluice-${service}` && pattern.test(span.name))
  expect(seen('api', /^import requested$/)).toBe(true)
  expect(seen('api', /^pg\.query/)).toBe(true)
  expect(seen('worker', /^import$/)).toBe(true)
  expect(seen('worker', /^pg\.query/)).toBe(true)
  expect(seen('worker', /GetObject/)).toBe(true)
  // The queue's span of the job and the span of the request are recorded as well.
  const jobs = collector.spans.filter(({ service, name }) => service === 'sluice-worker' && / imports$/.test(name))
  expect(jobs.length).toBeGreaterThan(0)
  expect(collector.spans.some(({ service, name }) => service === 'sluice-api' && /^POST/.test(name))).toBe(true)
  const text = JSON.stringify(collector.spans)
  for (const secret of [app.token, 'X-Amz-Signature=', 'user-1']) expect(text).not.toContain(secret)

  const completed = deployment.log.find(({ msg }) => msg === 'import completed')
  expect(completed).toMatchObject({ import_id: importId, trace_id: importId.replaceAll('-', '') })
})

test('without an OTLP endpoint no traces are recorded, and no module of the SDK is loaded', async () => {
  const listModules = `data:text/javascript,import{registerHooks}from'node:module';registerHooks({load(u,c,n){if(u.includes('@opentelemetry/')||u.includes('bullmq-otel'))console.log(JSON.stringify({level:'info',msg:'loaded '+u}));return n(u,c)}})`
  const deployment = await start({ NODE_OPTIONS: `--import=${encodeURI(listModules)} --import=${register}` })
  const app = await openClientApp(deployment)
  await upload(deployment, app, generateSoundFile(seeded(1), 1, 100))
  await untilAllEnded(deployment, [app], 60_000)
  await deployment.stopApps()
  const loaded = deployment.log.map(({ msg }) => msg).filter((msg) => msg.startsWith('loaded '))
  // The metrics library loads the API package, which does nothing without an SDK.
  expect(loaded.filter((msg) => !msg.includes('/@opentelemetry/api/'))).toEqual([])
  expect(deployment.log.some((line) => 'trace_id' in line)).toBe(false)
})

async function start(env: Record<string, string>): Promise<Deployment> {
  const deployment = await startDeployment({ workers: 1, env })
  onTestFinished(() => deployment.close())
  return deployment
}
