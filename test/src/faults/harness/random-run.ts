import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '@sluice/database'
import { type Random, seeded } from '../../environment/random.ts'
import { until } from '../../environment/wait.ts'
import { type ClientApp, cancel, largestProfile, openClientApp, request, retry, send, upload } from './client.ts'
import { type Comparison, compareWithModel } from './comparison.ts'
import { keepDeleting } from './deletions.ts'
import { type Deployment, startDeployment } from './deployment.ts'
import { additionalFaults, faults, injectFaults } from './faults.ts'
import { generateFile } from './generate.ts'

export interface RandomRun {
  seed: number
  queue: 'postgres' | 'redis'
  /** How long clients upload and faults occur, ms. */
  durationMs: number
  /** Upper bound for the duration of a fault, ms. */
  longestFaultMs: number
  workers: number
  apps: number
  /** Whether to wait after each fault until every app makes progress, and to measure this time. */
  awaitRecovery: boolean
}

export interface RunFigures extends Comparison {
  seed: number
  faults: Record<string, number>
  /** Longest time from the end of each fault until every app made progress, ms. Empty without `awaitRecovery`. */
  recovery: Record<string, number>
}

const maxRows = 2_000

/** Upper bound for the time between an upload and its cancellation, ms. */
const longestHesitationMs = 3_000

/** `UPLOAD_ORDER_WAIT`, and the upper bound for the delay of a late upload, ms. */
const orderWaitMs = 3_000
const longestDelayMs = 4_000

/** Settings of a deployment with which a random schedule runs. */
export const shortWaits = {
  orderWaitMs,
  env: {
    IMPORT_LEASE: '3s',
    // Faults are so frequent here that a long import may make no progress in five tries.
    IMPORT_ATTEMPTS: '100',
    // Other apps wait nearly all the time here, so that long imports are released repeatedly.
    IMPORT_SLICE: '300ms',
    S3_GATEWAY_SEARCH_INTERVAL: '1s',
  },
  setsClock: true,
}

const openImportsLimit = 4

/** Lets clients upload while faults occur, both determined by the seed. Then compares everything with the model. */
export async function runAtRandom(run: RandomRun): Promise<RunFigures> {
  const deployment = await startDeployment({ workers: run.workers, queue: run.queue, ...shortWaits })
  try {
    const apps = await Promise.all(Array.from({ length: run.apps }, () => openClientApp(deployment, largestProfile)))
    const over = new AbortController()
    const deleting = keepDeleting(deployment, over.signal)
    const uploading = Promise.all([
      deleting,
      ...apps.map((app, index) => keepUploading(deployment, app, seeded(run.seed + index), over.signal)),
    ])
    uploading.catch(() => {}) // awaited below unless something else fails first
    const recovery: Record<string, number> = {}
    const counts = await injectFaults(deployment, {
      random: seeded(run.seed),
      faults: { ...faults, ...additionalFaults(deployment) },
      longestFaultMs: run.longestFaultMs,
      over: AbortSignal.timeout(run.durationMs),
      async afterFault(name) {
        if (!run.awaitRecovery) return
        recovery[name] = Math.max(recovery[name] ?? 0, await untilProgress(deployment, apps))
      },
    }).finally(() => over.abort())
    await uploading
    const comparison = await compareWithModel(deployment, apps, { timeoutMs: 180_000 })
    await deployment.stopApps()
    comparison.violations.push(...(await deleting))
    return { seed: run.seed, faults: counts, recovery, ...comparison }
  } finally {
    await deployment.close()
  }
}

/** Waits until every app has made progress. Returns how long that took, ms. */
export async function untilProgress(deployment: Deployment, apps: readonly ClientApp[]): Promise<number> {
  const start = performance.now()
  const before = await progressOf(deployment)
  const hasProgressed = (now: Map<number, number>) =>
    apps.every(({ appId }) => (now.get(appId) ?? 0) > (before.get(appId) ?? 0))
  await until('progress of every app', async () => hasProgressed(await progressOf(deployment)), 90_000)
  return Math.round(performance.now() - start)
}

/** Returns the number of rows and ended imports so far, by app. */
function progressOf({ db }: Deployment): Promise<Map<number, number>> {
  return retry('the query for progress', async () => {
    const { rows } = await sql<{ app_id: number; progress: number }>`
      select app_id, sum(rows_total + (finished_at is not null)::integer)::bigint as progress from imports group by app_id
    `.execute(db)
    return new Map(rows.map(({ app_id: appId, progress }) => [appId, progress]))
  })
}

/**
 * Uploads one file after another, as fast as imports end. Cancels one import in six some time later. Uploads one file
 * in six so late that other imports have overtaken its import.
 */
export async function keepUploading(
  deployment: Deployment,
  app: ClientApp,
  random: Random,
  over: AbortSignal,
): Promise<void> {
  const late: Promise<void>[] = []
  for (let number = 0; !over.aborted; number++) {
    const file = generateFile(random, number, 1 + random(maxRows))
    if (random(6) === 0) {
      const requested = await request(deployment, app, file)
      const sending = delay(orderWaitMs + random(longestDelayMs)).then(() => send(app, requested, file))
      sending.catch(() => {}) // awaited below unless something else fails first
      late.push(sending)
      continue
    }
    const importId = await upload(deployment, app, file)
    if (random(6) === 0) {
      await delay(random(longestHesitationMs))
      await cancel(deployment, app, importId)
    }
    while (!over.aborted && (await openImports(deployment, app)) >= openImportsLimit) await delay(200)
  }
  await Promise.all(late)
}

function openImports({ db }: Deployment, { appId, files }: ClientApp): Promise<number> {
  return retry('the count of open imports', async () => {
    const rows = await db
      .selectFrom('imports')
      .select('import_id')
      .where('app_id', '=', appId)
      .where('state', 'in', ['awaiting_upload', 'queued', 'processing'])
      .execute()
    return rows.filter((row) => files.has(row.import_id)).length
  })
}
