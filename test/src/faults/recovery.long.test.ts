import { readFile } from 'node:fs/promises'
import { beforeAll, describe, expect, inject, test } from 'vitest'
import { type Random, seeded } from '../environment/random.ts'
import { until } from '../environment/wait.ts'
import { root } from '../stack/documented-session.ts'
import { type ClientApp, openClientApp, retry, upload } from './harness/client.ts'
import { type Deployment, startDeployment } from './harness/deployment.ts'
import { additionalFaults, type Fault, faults } from './harness/faults.ts'
import { generateSoundFile } from './harness/generate.ts'
import { untilProgress } from './harness/random-run.ts'

// The times that docs/faults.md promises, with the default lease and two workers.
const text = (await readFile(`${root}docs/faults.md`, 'utf8')).replaceAll('\n', ' ')
const [, soonS, halfOpenS] =
  /makes progress again within (\d+) s.*?within (\d+) s if connections stay half-open/.exec(text) ?? []
const limitOf = (fault: string) => Number(fault.endsWith('half-open') ? halfOpenS : soonS) * 1_000

/** How long each fault lasts, ms. */
const durationMs = 3_000

describe('with the queue in Postgres', () => recoveryTests('postgres', Object.keys(faults)))
describe.skipIf(inject('redisUrl') === undefined)('with the queue in Redis', () =>
  recoveryTests('redis', ['queue: everything forgotten', 'Redis: refused', 'Redis: half-open']),
)

function recoveryTests(queue: 'postgres' | 'redis', names: readonly string[]): void {
  let deployment: Deployment
  let apps: ClientApp[]
  let known: Record<string, Fault>
  const random = seeded(6)

  beforeAll(async () => {
    deployment = await startDeployment({ workers: 2, queue })
    known = { ...faults, ...(queue === 'redis' && additionalFaults(deployment)) }
    apps = [await openClientApp(deployment), await openClientApp(deployment)]
    const over = new AbortController()
    const uploading = Promise.all(apps.map((app) => keepUploading(deployment, app, random, over.signal)))
    uploading.catch(() => {}) // awaited at the end
    return async () => {
      over.abort()
      await uploading.finally(() => deployment.close())
    }
  })

  test.each(names)(
    'every app makes progress again in time after the fault "%s"',
    { timeout: 200_000 },
    async (name) => {
      await untilProgress(deployment, apps)
      await known[name]?.({ deployment, random, durationMs })
      // The start of a process is not part of the promise.
      await until('the processes', () => deployment.workers().length === 2 && deployment.apis().length === 1, 60_000)
      const recoveryMs = await untilProgress(deployment, apps)
      console.log(`${name}: progress again after ${recoveryMs} ms`)
      expect(recoveryMs).toBeLessThan(limitOf(name))
    },
  )
}

/** Uploads one file after another, so that an import of the app always waits. */
async function keepUploading(deployment: Deployment, app: ClientApp, random: Random, over: AbortSignal) {
  const openImports = () =>
    retry('the count of open imports', () =>
      deployment.db
        .selectFrom('imports')
        .select('import_id')
        .where('app_id', '=', app.appId)
        .where('finished_at', 'is', null)
        .execute(),
    )
  for (let number = 0; !over.aborted; number++) {
    await upload(deployment, app, generateSoundFile(random, number, 500))
    while (!over.aborted && (await openImports()).length > 3) await new Promise((done) => setTimeout(done, 100))
  }
}
