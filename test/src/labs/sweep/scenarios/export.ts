import { gunzipSync } from 'node:zlib'
import type { ExportView } from '@sluice/contract'
import { showExport } from '@sluice/exports'
import { parse } from 'csv-parse/sync'
import { storedProfiles } from '../../../environment/database.ts'
import { upload } from '../../../faults/harness/client.ts'
import type { Prepared, Scenario } from '../scenario.ts'
import { fileNumber, importApps } from './imports.ts'
import { post } from './post.ts'

export const exportProfiles: Scenario = {
  name: 'export',
  apps: importApps,
  setup: [({ system, app }) => upload(system, app, fileNumber(3)), ({ maintain }) => maintain('notice-uploads')],
  steps: [
    (stage) => post(stage, { path: '/v1/exports', contentType: 'application/json', body: '{}' }),
    ({ maintain }) => maintain('dispatch'),
  ],
  async isSettled(stage) {
    // The setup has no export.
    const views = await exportsOf(stage)
    return views.every(({ finished_at: at }) => at !== null)
  },
  async verify(stage) {
    const views = await exportsOf(stage)
    const [view] = views
    if (view === undefined || views.length !== 1) return [`${views.length} exports instead of one`]
    if (view.state !== 'completed' || view.file_url === null) return [`the export ended as ${JSON.stringify(view)}`]
    const file = gunzipSync(Buffer.from(await (await fetch(view.file_url)).arrayBuffer()))
    const records: Record<string, string>[] = parse(file, { columns: true })
    const profiles = await storedProfiles(stage.system, stage.app.appId)
    const differing = records.filter(({ user_id: user = '', ...values }) => {
      const stored = profiles[user] ?? {}
      return Object.entries(values).some(([key, value]) => String(stored[key] ?? '') !== value)
    })
    const isWhole = records.length === Object.keys(profiles).length && view.rows === records.length
    return [
      ...(isWhole ? [] : [`${records.length} rows of ${Object.keys(profiles).length} users, ${view.rows} counted`]),
      ...differing.map((record) => `exported as ${JSON.stringify(record)}`),
    ]
  },
}

async function exportsOf({ system: { db, api }, app }: Prepared): Promise<ExportView[]> {
  const rows = await db.selectFrom('exports').select('export_id').where('app_id', '=', app.appId).execute()
  const views = await Promise.all(rows.map(({ export_id: id }) => showExport(db, api, app.appId, id)))
  return views.filter((view) => view !== undefined)
}
