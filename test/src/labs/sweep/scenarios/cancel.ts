import pg from 'pg'
import { lockWaits } from '../../../environment/database.ts'
import { until } from '../../../environment/wait.ts'
import { cancel as cancelImport, upload } from '../../../faults/harness/client.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { fileNumber, importApps } from './imports.ts'

/** The connection that holds a lock, for each system. */
const holders = new WeakMap<Stage['system'], pg.Client>()

/** An import that is cancelled while a batch waits for a lock. */
export const cancel: Scenario = {
  name: 'cancel',
  apps: importApps,
  async prepare({ system }) {
    const holder = new pg.Client(system.databaseUrl)
    holder.on('error', () => {}) // the end of a failed run ends the connection
    await holder.connect()
    // Batches with invalid rows wait for this lock.
    await holder.query('begin; lock table import_error_chunks in share mode')
    holders.set(system, holder)
  },
  steps: [
    ({ system, app }) => upload(system, app, fileNumber(3)),
    ({ maintain }) => maintain('notice-uploads'),
    ({ system }) => until('a batch that waits', async () => (await lockWaits(system.db)).length > 0, 60_000),
    async ({ system, app }) => {
      for (const importId of app.files.keys()) await cancelImport(system, app, importId)
    },
    async ({ system }) => holders.get(system)?.end(),
    ({ maintain }) => maintain('report-cancelled'),
  ],
}
