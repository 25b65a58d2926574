import assert from 'node:assert/strict'
import { expect, onTestFinished, test } from 'vitest'
import { openVisitor } from '../dashboard/visitor.ts'
import { until } from '../environment/wait.ts'
import { openBucketOwner } from '../s3-gateway/bucket-owner.ts'
import { download, ended, openApp, upload } from '../stack/client.ts'
import { startStack } from '../stack/running-stack.ts'
import { startCollector } from './collector.ts'

const register = new URL('../../../packages/traces/src/register.ts', import.meta.url).href

test('traces of all apps contain routes, but no secret of a link, token or signature', async () => {
  const collector = await startCollector()
  const env = { NODE_OPTIONS: `--import=${register}`, OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  const stack = await startStack({ env })
  onTestFinished(() => stack.stop())
  const { dashboard, s3_gateway: gateway } = await stack.info()
  assert(dashboard && gateway)

  const app = await openApp(stack, ['u1'])
  const importId = await upload(stack.api, app.token, Buffer.from('user_id,age\nu1,1\nunregistered,2\n'))
  const { error_file_url: errorFile } = await ended(stack.api, app.token, importId)
  assert(errorFile)
  await download(errorFile)
  await openVisitor({ url: dashboard }).post('/sign-in', { email: app.email })
  const mail = await until('the link', async () =>
    (await stack.mailsTo(app.email)).find(({ text }) => text.includes('/sign-in/')),
  )
  const link = /http\S+\/sign-in\/[\w-]+/.exec(mail.text)?.[0] ?? ''
  await openVisitor({ url: dashboard }).get(link)
  const owner = await openBucketOwner(stack)
  const signature = 'ab'.repeat(32)
  await fetch(`${gateway}/${owner.path}file.csv?X-Amz-Signature=${signature}&X-Amz-Security-Token=${signature}`)
  await stack.terminate()

  const text = JSON.stringify(collector.spans)
  const secrets = {
    'error file': errorFile.slice(errorFile.lastIndexOf('/') + 1),
    'sign-in link': link.slice(link.lastIndexOf('/') + 1),
    'API token': app.token,
    'access key': owner.secretAccessKey,
    signature,
    'signature of the service': 'X-Amz-Signature',
  }
  for (const [name, secret] of Object.entries(secrets)) expect(secret.length, name).toBeGreaterThan(10)
  expect(Object.keys(secrets).filter((name) => text.includes(secrets[name as keyof typeof secrets]))).toEqual([])
  const addresses = collector.spans.flatMap(
    ({ attributes }) => JSON.stringify(attributes).match(/"(url\.[a-z]+)"/g) ?? [],
  )
  expect(new Set(addresses)).toEqual(new Set(['"url.scheme"']))
  // traces.long.test.ts has what the trace of an import contains.
  const ofImport = collector.spans.filter(({ traceId }) => traceId === importId.replaceAll('-', ''))
  expect(new Set(ofImport.map(({ service }) => service))).toEqual(new Set(['sluice-api', 'sluice-worker']))
  const served = collector.spans.filter(({ kind }) => kind === 2).map(({ name }) => name)
  expect(served).toEqual(expect.arrayContaining(['GET /error_files/:token', 'GET /sign-in/:secret']))
  expect(collector.spans.map(({ service }) => service)).toContain('sluice-s3-gateway')
})
