import { cpuOfTree } from '../import/cpu.ts'
import { deadlineMs, makeApps, openScaleSession, queueFile, type ScaleSession, spanOf } from './session.ts'

const importsOfApp = 10
const objectKey = 'bench/one-row.csv'

/** The cost of many imports that are queued at the same moment. */
export interface DrainResult {
  imports: number
  apps: number
  /** From the first claim to the last end, per import, ms. */
  time: number
  /** CPU of all processes but Redis, per import, ms: it hardly depends on the machine's other load. */
  cpu: number
}

/**
 * Measures how fast two workers complete waiting imports: ten imports of one row for each app. Repeats this for each
 * number of apps.
 */
export async function measureDrain(appCounts: readonly number[]): Promise<DrainResult[]> {
  await using session = await openScaleSession(2)
  await session.storage.write(objectKey, Buffer.from('user_id,n\nuser-1,1\n'), 'text/csv')
  await drain(session, 100) // processes and tables warm up: not measured
  const results: DrainResult[] = []
  for (const apps of appCounts) results.push(await drain(session, apps))
  return results
}

async function drain(session: ScaleSession, apps: number): Promise<DrainResult> {
  const appIds = await makeApps(session, apps, 1)
  const { pid } = await session.stack.info()
  const before = await cpuOfTree(pid)
  const importIds = await queueFile(session, appIds, objectKey, importsOfApp)
  const { began, ended } = await spanOf(session, importIds, deadlineMs)
  const cpu = (await cpuOfTree(pid)) - before
  return {
    imports: importIds.length,
    apps,
    time: (ended - began) / importIds.length,
    cpu: (cpu * 1000) / importIds.length,
  }
}
