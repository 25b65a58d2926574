import { isDeepStrictEqual } from 'node:util'
import { seeded, shuffled } from '../../environment/random.ts'
import { breakThings } from './break-things.ts'
import { type ClientApp, openClientApp, type Requested, request, send } from './client.ts'
import { startDeployment } from './deployment.ts'
import { faults } from './faults.ts'
import { type GeneratedFile, generateFile } from './generate.ts'
import { judge, untilAllEnded, type Verdict } from './verdict.ts'
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
  patience: number
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
export async function runInOrder(run: OrderRun): Promise<Verdict> {
  const deployment = await startDeployment({
    workers: run.workers,
    // Nothing is to be passed by, however long its upload takes.
    orderWait: 60 * 60_000,
    env: { IMPORT_LEASE: '3s', IMPORT_ATTEMPTS: '100' },
  })
  try {
    const random = seeded(run.seed)
    const requested: { app: ClientApp; file: GeneratedFile; place: Requested }[] = []
    const apps: ClientApp[] = []
    for (let index = 0; index < run.apps; index++) {
      const app = await openClientApp(deployment)
      apps.push(app)
      for (let number = 0; number < run.imports; number++) {
        const file = generateFile(random, number, 1 + random(run.rows))
        requested.push({ app, file, place: await request(deployment, app, file) })
      }
    }
    const over = new AbortController()
    const breaking = breakThings(deployment, {
      random: seeded(run.seed),
      faults: Object.fromEntries(Object.entries(faults).filter(([name]) => kinds.includes(name))),
      longestFault: 1_500,
      over: over.signal,
    })
    try {
      for (const { app, file, place } of shuffled(requested, random)) await send(app, place, file)
      await untilAllEnded(deployment, apps, run.patience)
    } finally {
      over.abort()
      await breaking
    }
    const verdict = await judge(deployment, apps)
    const { order } = await observe(deployment.db, deployment.orderWait)
    for (const app of apps) {
      const asked = requested.filter((each) => each.app === app).map(({ place }) => place.importId)
      if (!isDeepStrictEqual(order.get(app.appId), asked)) verdict.violations.push(`app ${app.appId} ran out of order`)
    }
    return verdict
  } finally {
    await deployment.close()
  }
}
