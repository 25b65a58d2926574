import { isDeepStrictEqual } from 'node:util'
import { seeded, shuffled } from '../../environment/random.ts'
import type { RequestedImport } from '../../stack/client.ts'
import { type ClientApp, openClientApp, request, send } from './client.ts'
import { type Comparison, compareWithModel, untilAllEnded } from './comparison.ts'
import { startDeployment } from './deployment.ts'
import { faults, injectFaults } from './faults.ts'
import { type GeneratedFile, generateFile } from './generate.ts'
import { appliedOrder, recordedHistory } from './watcher.ts'

export interface OrderRun {
  seed: number
  apps: number
  imports: number
  rows: number
  workers: number
  /** How long faults go on, ms. On a loaded machine, a process may never live long enough to finish anything. */
  faultsMs: number
  /** Maximum time from the first upload to the end of the last import, ms. */
  timeoutMs: number
}

/** Faults that leave Postgres running, because clients and the harness query it throughout the run. */
const faultNames = [
  'worker killed',
  'worker stopped',
  'Postgres: backends terminated',
  'Postgres: deadlocks',
  'queue: everything forgotten',
  'storage: cut in a GET',
  'storage: cut in a PUT',
  'storage: 503',
]

/**
 * Makes the first requests of all imports, then uploads the files in random order. Meanwhile, for `faultsMs`, workers
 * are killed and stopped, and connections break. Returns a violation if an app's imports do not run in request order or
 * differ from the model.
 */
export async function runInOrder(run: OrderRun): Promise<Comparison> {
  const deployment = await startDeployment({
    workers: run.workers,
    // No import may be overtaken, however long its upload takes.
    orderWaitMs: 60 * 60_000,
    env: { IMPORT_LEASE: '3s', IMPORT_ATTEMPTS: '100' },
  })
  try {
    const random = seeded(run.seed)
    const uploads: { app: ClientApp; file: GeneratedFile; requested: RequestedImport }[] = []
    const apps: ClientApp[] = []
    for (let index = 0; index < run.apps; index++) {
      const app = await openClientApp(deployment)
      apps.push(app)
      for (let number = 0; number < run.imports; number++) {
        const file = generateFile(random, number, 1 + random(run.rows))
        uploads.push({ app, file, requested: await request(deployment, app, file) })
      }
    }
    const over = new AbortController()
    const breaking = injectFaults(deployment, {
      random: seeded(run.seed),
      faults: Object.fromEntries(Object.entries(faults).filter(([name]) => faultNames.includes(name))),
      longestFaultMs: 1_500,
      over: AbortSignal.any([over.signal, AbortSignal.timeout(run.faultsMs)]),
    })
    try {
      for (const { app, file, requested } of shuffled(uploads, random)) await send(app, requested, file)
      await untilAllEnded(deployment, apps, run.timeoutMs)
    } finally {
      over.abort()
      await breaking
    }
    const comparison = await compareWithModel(deployment, apps)
    const order = appliedOrder(await recordedHistory(deployment.db, deployment.orderWaitMs))
    for (const app of apps) {
      const inRequestOrder = uploads.filter((each) => each.app === app).map(({ requested }) => requested.importId)
      if (!isDeepStrictEqual(order.get(app.appId), inRequestOrder))
        comparison.violations.push(`app ${app.appId} ran out of order`)
    }
    return comparison
  } finally {
    await deployment.close()
  }
}
