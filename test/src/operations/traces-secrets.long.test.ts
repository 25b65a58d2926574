import assert from 'node:assert/strict'
import { createApp } from '@sluice/accounts'
import { pathOf } from '@sluice/bucket-uploads'
import { registerUsers } from '@sluice/profiles'
import { expect, test } from 'vitest'
import { openVisitor } from '../dashboard/visitor.ts'
import { until } from '../environment/wait.ts'
import { download, ended, upload } from '../stack/client.ts'
import { type Span, startCollector } from './collector.ts'
import { startTracedApps, type TracedApps } from './traced-apps.ts'

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

/**
 * Makes requests whose addresses, headers and statements contain secrets, to all apps. Returns the secrets by name, and
 * the ID of the import that was run.
 */
async function useSecrets(apps: TracedApps): Promise<{ secrets: Record<string, string>; importId: string }> {
  const email = 'member@example.com'
  const { appId, apiToken } = await createApp(apps.db, { name: 'Shop', email })
  await registerUsers(apps.db, appId, ['u1'])
  const importId = await upload(apps.api, apiToken, Buffer.from('user_id,age\nu1,1\nunregistered,2\n'))
  const { error_file_url: errorFile } = await ended(apps.api, apiToken, importId)
  assert(errorFile)
  await download(errorFile)
  await openVisitor({ url: apps.dashboard }).post('/sign-in', { email })
  const mail = await until('the link', async () =>
    (await apps.mailsTo(email)).find((text) => text.includes('/sign-in/')),
  )
  const link = /http\S+\/sign-in\/[\w-]+/.exec(mail)?.[0] ?? ''
  await openVisitor({ url: apps.dashboard }).get(link)
  const { secretAccessKey } = await apps.openAccessKey(appId)
  const signature = 'ab'.repeat(32)
  await fetch(`${apps.gateway}/${pathOf(appId)}file.csv?X-Amz-Signature=${signature}&X-Amz-Security-Token=${signature}`)
  return {
    importId,
    secrets: {
      'error file': errorFile.slice(errorFile.lastIndexOf('/') + 1),
      'sign-in link': link.slice(link.lastIndexOf('/') + 1),
      'API token': apiToken,
      'access key': secretAccessKey,
      signature,
      'signature of the service': 'X-Amz-Signature',
    },
  }
}

/** Expects that spans contain none of these secrets and no address, and that they name routes instead. */
function expectRoutesOnly(spans: readonly Span[], secrets: Record<string, string>): void {
  const text = JSON.stringify(spans)
  for (const [name, secret] of Object.entries(secrets)) expect(secret.length, name).toBeGreaterThan(10)
  expect(Object.keys(secrets).filter((name) => text.includes(secrets[name] ?? ''))).toEqual([])
  const addresses = spans.flatMap(({ attributes }) => JSON.stringify(attributes).match(/"(url\.[a-z]+)"/g) ?? [])
  expect(new Set(addresses)).toEqual(new Set(['"url.scheme"']))
  const served = spans.filter(({ kind }) => kind === 2).map(({ name }) => name)
  expect(served).toEqual(expect.arrayContaining(['GET /error_files/:token', 'GET /sign-in/:secret']))
}
