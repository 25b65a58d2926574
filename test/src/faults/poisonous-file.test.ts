import { expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { openClientApp, request, send } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { startDeployment } from './harness/deployment.ts'
import { generateSoundFile } from './harness/generate.ts'
import { logged, untilState } from './harness/import-states.ts'

test('a file that fails every try fails after IMPORT_ATTEMPTS, with a mail, and the next one goes on', async () => {
  const attempts = 3
  const deployment = await startDeployment({ workers: 2, env: { IMPORT_ATTEMPTS: String(attempts) } })
  onTestFinished(() => deployment.close())
  const app = await openClientApp(deployment)
  const poisonous = {
    ...generateSoundFile(seeded(5), 0, 500),
    refusal: `could not be processed in ${attempts} attempts`,
  }
  const requested = await request(deployment, app, poisonous)
  // Storage itself is well: only this object cannot be read.
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
  expect(postponed.map(({ err }) => err?.message)).toEqual(['as told', 'as told'])
  // 2 s, 4 s …, less up to half.
  for (const [index, { retry_in_ms: delay = 0 }] of postponed.entries()) {
    expect(delay).toBeGreaterThanOrEqual(1000 * 2 ** index)
    expect(delay).toBeLessThanOrEqual(2000 * 2 ** index)
  }
  // Exactly the mail, the state and the profiles that the model has for a file that is refused, and then the next one's.
  expect((await compareWithModel(deployment, [app])).violations).toEqual([])
})
