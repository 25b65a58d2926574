import { gunzipSync } from 'node:zlib'
import type { ExportView } from '@sluice/contract'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { openClientApp } from '../faults/harness/client.ts'
import { startDeployment } from '../faults/harness/deployment.ts'

test('an export whose worker is killed is completed by another worker, and its link downloads the whole file', async () => {
  const deployment = await startDeployment({ workers: 0 })
  onTestFinished(() => deployment.close())
  const app = await openClientApp(deployment)
  const first = await deployment.addWorker({})
  const headers = { 'X-Service-Token': app.token, 'Content-Type': 'application/json' }
  const released = Promise.withResolvers<void>()
  let uploads = 0
  deployment.storageFaults.set(({ method, path }) => {
    if (method !== 'PUT' || !path.includes('/exports/')) return undefined
    uploads++
    return { kind: 'hold', until: released.promise }
  })
  const requested = await fetch(`${deployment.api}/v1/exports`, { method: 'POST', headers, body: '{}' })
  const { export_id: exportId } = (await requested.json()) as { export_id: string }
  await until('the upload of the file', () => uploads > 0)
  first.kill('SIGKILL')
  await first.exited
  deployment.storageFaults.set(undefined)
  released.resolve()
  await deployment.addWorker({})
  const view = await until(
    'the end of the export',
    async () => {
      const answer = await fetch(`${deployment.api}/v1/exports/${exportId}`, { headers })
      const current = (await answer.json()) as ExportView
      return current.finished_at !== null && current
    },
    90_000,
  )
  expect(view).toMatchObject({ state: 'completed', error: null })
  const lines = gunzipSync(await (await fetch(view.file_url ?? '')).bytes())
    .toString()
    .trimEnd()
    .split('\n')
  expect(lines).toHaveLength(view.rows + 1)
}, 150_000)
