import { cancelImport } from '@sluice/imports'
import { queueFile } from '../imports/import-fixture.ts'
import { type Action, type AuditedDashboard, columnMapping } from './audited-dashboard.ts'

function queueImport({ appId, dashboard }: AuditedDashboard, isDryRun = false): Promise<string> {
  const services = { database: dashboard, storage: dashboard.storage }
  return queueFile(services, appId, 'user_id,a\nx,1\n', 'text/csv', isDryRun)
}

/** Forms about imports and profiles of an app. Each leaves an entry. */
export const importForms: Record<string, Action> = {
  'POST /apps/:appId/imports/:importId/cancel': {
    what: 'import.cancel',
    async do(site) {
      const importId = await queueImport(site)
      return { ...(await site.asMember(`/apps/${site.appId}/imports/${importId}/cancel`)), target: importId }
    },
  },
  'POST /apps/:appId/imports/:importId/approve': {
    what: 'import.approve',
    async do(site) {
      const importId = await queueImport(site)
      await site.dashboard.db
        .updateTable('imports')
        .set({ state: 'held', hold_if: '"always"', held_reasons: ['every import is held'] })
        .set({ held_at: new Date(), held_until: new Date(Date.now() + 3_600_000) })
        .where('import_id', '=', importId)
        .execute()
      return { ...(await site.asMember(`/apps/${site.appId}/imports/${importId}/approve`)), target: importId }
    },
  },
  'POST /apps/:appId/imports/:importId/retry': {
    what: 'import.retry',
    async do(site) {
      const importId = await queueImport(site)
      await cancelImport(site.dashboard.db, { appId: site.appId, importId })
      return { ...(await site.asMember(`/apps/${site.appId}/imports/${importId}/retry`)), target: importId }
    },
  },
  'POST /apps/:appId/imports/:importId/undo': {
    what: 'import.undo',
    async do(site) {
      const importId = await queueImport(site)
      await site.dashboard.db
        .updateTable('imports')
        .set({ state: 'completed', finished_at: new Date(), keep_changes: true })
        .set({ changes_file_key: 'changes', changes_file_secret: 'secret' })
        .where('import_id', '=', importId)
        .execute()
      return { ...(await site.asMember(`/apps/${site.appId}/imports/${importId}/undo`)), target: importId }
    },
  },
  'POST /apps/:appId/imports/:importId/import': {
    what: 'import.start',
    async do(site) {
      const importId = await queueImport(site, true)
      await site.dashboard.db
        .updateTable('imports')
        .set({ state: 'completed' })
        .where('import_id', '=', importId)
        .execute()
      return { ...(await site.asMember(`/apps/${site.appId}/imports/${importId}/import`)), target: importId }
    },
  },
  'POST /apps/:appId/data-import/mappings/keep': {
    what: 'column_mapping.keep',
    status: 204,
    do: async (site) => ({
      ...(await site.asMember(`${site.dataImport}/mappings/keep`, columnMapping, site.dataImport)),
      target: '1 column',
    }),
  },
  'POST /apps/:appId/data-import/mappings/forget': {
    what: 'column_mapping.forget',
    status: 204,
    do: async (site) => ({
      ...(await site.asMember(`${site.dataImport}/mappings/forget`, columnMapping, site.dataImport)),
      target: '1 column',
    }),
  },
  'POST /apps/:appId/profiles/key': {
    what: 'key.change',
    async do(site) {
      await site.dashboard.db
        .insertInto('profile_keys')
        .values({ app_id: site.appId, key: 'plan', type: 'string' })
        .execute()
      const answer = await site.asMember(`${site.profiles}/key`, { key: 'plan', enabled: 'false' }, site.profiles)
      return { ...answer, target: 'disabled: plan' }
    },
  },
  'POST /apps/:appId/profiles/exports': {
    what: 'export.request',
    async do(site) {
      const answer = await site.asMember(`${site.profiles}/exports`, {}, site.profiles)
      const [newest] = await site.dashboard.db.selectFrom('exports').select('export_id').execute()
      return { ...answer, target: newest?.export_id ?? null }
    },
  },
  'POST /apps/:appId/profiles/deletion': {
    what: 'deletion.request',
    do: async (site) => ({
      ...(await site.asMember(`${site.profiles}/deletion`, { users: 'alice\nbob' }, site.profiles)),
      target: '2 users',
    }),
  },
}
