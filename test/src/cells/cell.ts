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

/** Starts a deployment with a database of its own, as the cell with this number. It ends with the test. */
export async function startCell(
  cell: number,
  { env, ...options }: { env?: Record<string, string>; postgresSettings?: Record<string, string> } = {},
): Promise<Deployment> {
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
