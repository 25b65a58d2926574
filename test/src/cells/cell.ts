import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { assignCell } from '@sluice/accounts'
import { connect, migrate } from '@sluice/database'
import { onTestFinished } from 'vitest'
import { type Deployment, startDeployment } from '../faults/harness/deployment.ts'

/** Creates the schema of a cell's database. */
export async function migrateCell(databaseUrl: string, cell: number): Promise<void> {
  await migrate(databaseUrl)
  const { db, close } = connect(databaseUrl, { connections: 1 })
  await assignCell(db, cell)
  await close()
}

/** Lets an app move away from a cell. */
export const logicalPostgres = { postgresSettings: { wal_level: 'logical' } }

/** Returns the settings with which another cell uses the bucket of this one. */
export function storageOf({ storageSettings }: Deployment): Record<string, string> {
  return Object.fromEntries(Object.entries(storageSettings).map(([name, value]) => [name, String(value)]))
}

interface CellOptions {
  env?: Record<string, string>
  postgresSettings?: Record<string, string>
}

/** Starts a deployment with a database of its own, as the cell with this number. It ends with the test. */
export async function startCell(cell: number, { env, ...options }: CellOptions = {}): Promise<Deployment> {
  const deployment = await startDeployment({
    workers: 1,
    ...options,
    env: { CELL: String(cell), ...env },
    async pooler(url, { directUrl }) {
      await migrateCell(directUrl, cell)
      return { url, close: async () => {} }
    },
  })
  onTestFinished(() => deployment.close())
  return deployment
}

/** Runs `sluice apps move`. Kills it after `lifeMs`, if given. Returns its exit code, null if it was killed. */
export async function runMove(
  env: Record<string, string>,
  args: readonly string[],
  lifeMs?: number,
): Promise<number | null> {
  const cli = new URL('../../../apps/cli/src/main.ts', import.meta.url).pathname
  const child = spawn(process.execPath, [cli, 'apps', 'move', ...args], {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const timer = lifeMs === undefined ? undefined : setTimeout(() => child.kill('SIGKILL'), lifeMs)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearTimeout(timer)
  return code
}
