import { expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { openClientApp, request, send } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { startDeployment } from './harness/deployment.ts'
import { generateSoundFile } from './harness/generate.ts'
import { logged, untilState } from './harness/import-states.ts'

test('an import that fails every try ends as failed after IMPORT_ATTEMPTS, with a mail, and the next import runs', async () => {
  const attempts = 3
  const deployment = await startDeployment({ workers: 2, env: { IMPORT_ATTEMPTS: String(attempts) } })
  onTestFinished(() => deployment.close())
  const app = await openClientApp(deployment)
  const poisonous = {
    ...generateSoundFile(seeded(5), 0, 500),
    refusal: `could not be processed in ${attempts} attempts`,
  }
  const requested = await request(deployment, app, poisonous)
  // Only this object cannot be read: storage itself works.
  deployment.storageFaults.set(({ method, path }) =>
    method === 'GET' && path.includes(requested.importId)
      ? { kind: 'answer', status: 500, code: 'InternalError' }
      : undefined,
  )
  await send(app, requested, poisonous)
  const next = generateSoundFile(seeded(6), 1, 500)
  await send(app, await request(deployment, app, next), next)
  await untilState(deployment, requested.importId, 'failed')

  const postponed = logged(deployment, requested.importId, 'import postponed')
  expect(postponed.map(({ err }) => err?.message)).toEqual(['simulated', 'simulated'])
  // The delay doubles from 2 s, minus a random part of up to half.
  for (const [index, { retry_in_ms: delay = 0 }] of postponed.entries()) {
    expect(delay).toBeGreaterThanOrEqual(1000 * 2 ** index)
    expect(delay).toBeLessThanOrEqual(2000 * 2 ** index)
  }
  // The model treats this file as refused: same mail, same state, no profiles.
  expect((await compareWithModel(deployment, [app])).violations).toEqual([])
})
