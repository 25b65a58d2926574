import { isDeepStrictEqual } from 'node:util'
import { seeded, shuffled } from '../../environment/random.ts'
import { type ClientApp, openClientApp, type Requested, request, send } from './client.ts'
import { type Comparison, compareWithModel, untilAllEnded } from './comparison.ts'
import { startDeployment } from './deployment.ts'
import { faults } from './faults.ts'
import { type GeneratedFile, generateFile } from './generate.ts'
import { injectFaults } from './inject-faults.ts'
import { observe } from './watcher.ts'

/** What {@link runInOrder} takes. */
export interface OrderRun {
  seed: number
  apps: number
  /** Imports of each app. */
  imports: number
  /** Rows of each import, at most. */
  rows: number
  workers: number
  /** How long it may take from the first upload until every import has ended, ms. */
  timeoutMs: number
}

/** Those that leave Postgres running: the order is asked from it all the time. */
const kinds = [
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
 * Makes the first requests of all imports, then uploads the files in random order while workers are killed and stopped
 * and connections break. Every app's imports have to run in the order of the requests, and leave what the model says.
 */
export async function runInOrder(run: OrderRun): Promise<Comparison> {
  const deployment = await startDeployment({
    workers: run.workers,
    // Nothing is to be passed by, however long its upload takes.
    orderWaitMs: 60 * 60_000,
    env: { IMPORT_LEASE: '3s', IMPORT_ATTEMPTS: '100' },
  })
  try {
    const random = seeded(run.seed)
    const uploads: { app: ClientApp; file: GeneratedFile; requested: Requested }[] = []
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
      faults: Object.fromEntries(Object.entries(faults).filter(([name]) => kinds.includes(name))),
      longestFaultMs: 1_500,
      over: over.signal,
    })
    try {
      for (const { app, file, requested } of shuffled(uploads, random)) await send(app, requested, file)
      await untilAllEnded(deployment, apps, run.timeoutMs)
    } finally {
      over.abort()
      await breaking
    }
    const comparison = await compareWithModel(deployment, apps)
    const { order } = await observe(deployment.db, deployment.orderWaitMs)
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
