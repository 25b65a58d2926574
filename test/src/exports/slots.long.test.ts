import type { ExportView } from '@sluice/contract'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { type ClientApp, openClientApp } from '../faults/harness/client.ts'
import { startDeployment } from '../faults/harness/deployment.ts'

test('while an export of one app takes long in the only worker, the export of another app completes', async () => {
  const deployment = await startDeployment({ workers: 1 })
  const released = Promise.withResolvers<void>()
  onTestFinished(async () => {
    released.resolve()
    await deployment.close()
  })
  const [slow, other] = [await openClientApp(deployment), await openClientApp(deployment)]
  let uploads = 0
  deployment.storageFaults.set(({ method, path }) =>
    method === 'PUT' && path.includes(`/${slow.appId}/exports/`) && ++uploads > 0
      ? { kind: 'hold', until: released.promise }
      : undefined,
  )
  const headersOf = ({ token }: ClientApp) => ({ 'X-Service-Token': token, 'Content-Type': 'application/json' })
  const request = async (app: ClientApp) => {
    const sent = { method: 'POST', headers: headersOf(app), body: '{}' }
    return ((await (await fetch(`${deployment.api}/v1/exports`, sent)).json()) as ExportView).export_id
  }
  const stateOf = async (app: ClientApp, exportId: string) => {
    const answer = await fetch(`${deployment.api}/v1/exports/${exportId}`, { headers: headersOf(app) })
    return ((await answer.json()) as ExportView).state
  }
  const [first, second] = [await request(slow), await request(slow)]
  await until('the upload of the first app', () => uploads > 0)
  const ofOther = await request(other)
  await until('the end of the other export', async () => (await stateOf(other, ofOther)) === 'completed')
  expect([await stateOf(slow, first), await stateOf(slow, second)]).toEqual(['processing', 'queued'])
}, 90_000)
