import { expect, onTestFinished, test } from 'vitest'
import { seeded } from '../environment/random.ts'
import { openClientApp, upload } from './harness/client.ts'
import { compareWithModel } from './harness/comparison.ts'
import { startDeployment } from './harness/deployment.ts'
import { generateSoundFile } from './harness/generate.ts'
import { untilState } from './harness/import-states.ts'

const hourMs = 60 * 60_000

/** Returns the Node option for a process whose clock jumps by `stepMs` three seconds after its start. */
function steppingClock(stepMs: number): string {
  const code = `
    const now = Date.now, RealDate = Date, start = now()
    const offset = () => (now() - start > 3000 ? ${stepMs} : 0)
    globalThis.Date = class Date extends RealDate {
      constructor(...given) { given.length === 0 ? super(now() + offset()) : super(...given) }
      static now() { return now() + offset() }
    }`
  return `--import=data:text/javascript,${encodeURIComponent(code)}`
}

test('workers whose clocks jump an hour forward or back delay no import, not even after they have left', async () => {
  const deployment = await startDeployment({ workers: 1, env: { IMPORT_LEASE: '3s' } })
  onTestFinished(() => deployment.close())
  const ahead = await deployment.addWorker({ nodeOptions: [steppingClock(hourMs)] })
  await deployment.addWorker({ nodeOptions: [steppingClock(-hourMs)] })
  const app = await openClientApp(deployment)
  const started = performance.now()
  let slowestMs = 0
  for (let number = 0; performance.now() - started < 20_000; number++) {
    // Its runs of maintenance have set the next ones an hour ahead.
    if (performance.now() - started > 8_000) ahead.kill('SIGKILL')
    const uploaded = performance.now()
    const importId = await upload(deployment, app, generateSoundFile(seeded(number), number, 300))
    await untilState(deployment, importId, 'completed')
    slowestMs = Math.max(slowestMs, performance.now() - uploaded)
  }
  console.log(`the slowest import took ${Math.round(slowestMs)} ms`)
  expect(slowestMs).toBeLessThan(15_000)
  expect((await compareWithModel(deployment, [app])).violations).toEqual([])
})
