import { cpuOfTree } from '../import/cpu.ts'
import { makeApps, openScaleSession, queueFile, type ScaleSession, spanOf } from './session.ts'

const importsOfApp = 10
const deadline = 30 * 60_000
const objectKey = 'bench/one-row.csv'

/** What lines of imports cost that are all there at one moment. */
export interface DrainResult {
  imports: number
  apps: number
  /** From the first claim to the last end, by import, ms. */
  time: number
  /** CPU of all processes but Redis, by import, ms: it hardly changes with what else the machine does. */
  cpu: number
}

/** Has two workers drain lines of ten imports of one row each, for each number of apps. */
export async function measureDrain(appCounts: readonly number[]): Promise<DrainResult[]> {
  await using session = await openScaleSession(2)
  await session.storage.write(objectKey, Buffer.from('user_id,n\nuser-1,1\n'), 'text/csv')
  await drain(session, 100) // processes and tables warm up: not counted
  const results: DrainResult[] = []
  for (const apps of appCounts) results.push(await drain(session, apps))
  return results
}

async function drain(session: ScaleSession, apps: number): Promise<DrainResult> {
  const appIds = await makeApps(session, apps, 1)
  const { pid } = await session.stack.info()
  const before = await cpuOfTree(pid)
  const importIds = await queueFile(session, appIds, objectKey, importsOfApp)
  const { began, ended } = await spanOf(session, importIds, deadline)
  const cpu = (await cpuOfTree(pid)) - before
  return {
    imports: importIds.length,
    apps,
    time: (ended - began) / importIds.length,
    cpu: (cpu * 1000) / importIds.length,
  }
}
