import { gzipSync } from 'node:zlib'
import pg from 'pg'
import { lockWaits } from '../../../environment/database.ts'
import { seeded } from '../../../environment/random.ts'
import { until } from '../../../environment/wait.ts'
import { cancel as cancelImport, request, send, upload } from '../../../faults/harness/client.ts'
import { type GeneratedFile, generatedUsers, generateSoundFile, write } from '../../../faults/harness/generate.ts'
import { bulkImport } from '../../../stack/client.ts'
import type { Scenario, Stage } from '../scenario.ts'
import { post } from './post.ts'

/** Rows of a file: three batches, the last one not full. */
const rows = 120

export const importApps = ['api', 'worker'] as const

/** Returns a file with several keys, whose rows have values, changes and errors. */
export function fileNumber(number: number): GeneratedFile {
  return generateSoundFile(seeded(number), number, rows)
}

const uploaded = (file: GeneratedFile) => (stage: Stage) => upload(stage.system, stage.app, file)

const noticed = ({ maintain }: Stage) => maintain('notice-uploads')

/** An app's first import: it registers keys and inserts profiles. */
export const firstImport: Scenario = {
  name: 'first-import',
  apps: importApps,
  steps: [uploaded(fileNumber(3)), noticed],
}

export const changes: Scenario = {
  name: 'changes',
  apps: importApps,
  setup: [uploaded(fileNumber(3)), noticed],
  steps: [uploaded(fileNumber(5)), noticed],
}

/** A file of equal rows, imported twice: most rows are known already. */
export const identicalRows: Scenario = {
  name: 'identical-rows',
  apps: importApps,
  setup: [uploaded(equalRows()), noticed],
  steps: [uploaded(equalRows()), noticed],
}

function equalRows(): GeneratedFile {
  const row = [Buffer.from('user-1'), Buffer.from('same')]
  const table = { header: ['user_id', 'mark'], rows: Array.from({ length: rows }, () => row) }
  return { table, bytes: write(table), contentType: 'text/csv', refusal: undefined }
}

/** A compressed file of two members. The second begins in the middle of a batch. */
export const twoMembers: Scenario = {
  name: 'gzip-two-members',
  apps: importApps,
  steps: [uploaded(inTwoMembers()), noticed],
}

function inTwoMembers(): GeneratedFile {
  const header = ['user_id', 'mark']
  const table = {
    header,
    rows: Array.from({ length: rows }, (_, row) => [
      Buffer.from(generatedUsers[row % generatedUsers.length] ?? ''),
      Buffer.from(`m${row}`),
    ]),
  }
  const csv = write(table)
  const middle = csv.length / 2
  const bytes = Buffer.concat([gzipSync(csv.subarray(0, middle)), gzipSync(csv.subarray(middle))])
  return { table, bytes, contentType: 'application/gzip', refusal: undefined }
}

/** A refused file: its mail has two recipients, and the mail server rejects the second. */
export const mail: Scenario = {
  name: 'mail',
  apps: importApps,
  steps: [
    async ({ system, app }) => {
      const table = { header: ['mark', 'age'], rows: [[Buffer.from('1'), Buffer.from('1')]] }
      const refusal = 'user_id column is required'
      const file: GeneratedFile = { table, bytes: write(table), contentType: 'text/csv', refusal }
      await send(app, await request(system, app, file), file)
    },
    noticed,
  ],
}

/** An import, and its undo, which leaves what was before. */
export const undo: Scenario = {
  name: 'undo',
  apps: importApps,
  keepsChanges: true,
  setup: [uploaded(fileNumber(3)), uploaded(fileNumber(5)), noticed],
  steps: [
    async (stage) => {
      const [, importId] = stage.app.files.keys()
      const path = `${bulkImport}/${importId}/undo`
      const response = await post(stage, { path, contentType: 'application/json', body: '{}' })
      stage.app.files.set(response.headers.get('x-import-id') ?? '', { ...fileNumber(5), isUndo: true })
    },
    ({ maintain }) => maintain('dispatch'),
  ],
}

/** An import that is held after its check, approved, and applied. */
export const held: Scenario = {
  name: 'held',
  apps: importApps,
  keepsChanges: true,
  setup: [
    uploaded(fileNumber(3)),
    noticed,
    async ({ system: { db }, app: { appId } }) => {
      await db.updateTable('apps').set({ hold_if: '"always"' }).where('app_id', '=', appId).execute()
    },
  ],
  steps: [
    uploaded(fileNumber(5)),
    noticed,
    ({ settle }) => settle(),
    async (stage) => {
      const [, importId] = stage.app.files.keys()
      const path = `${bulkImport}/${importId}/approve`
      await post(stage, { path, contentType: 'application/json', body: '{}', refusedAgain: 409 })
    },
    ({ maintain }) => maintain('dispatch'),
  ],
}

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
    await holder.query('begin; lock table import_chunks in share mode')
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
