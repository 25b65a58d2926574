import { type AuditAction, auditLogPage } from '@sluice/audit-log'
import { expect, test } from 'vitest'
import { type App, openApp, openTestApi, send } from '../api/test-api.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { holdImport } from '../imports/forced-states.ts'
import { queueFile } from '../imports/import-fixture.ts'

// Whatever a request to the API changes leaves its entry in the audit log. A new route must join one of the lists here.
const api = openBeforeAll(() => openTestApi({ API_TRUSTED_PROXIES: '10.1.0.0/16' }))

const newest = async () => (await auditLogPage(api.database.db, {}, 1)).entries[0]

const apiRecorded: Record<
  string,
  { what: AuditAction; do(app: App): Promise<{ status: number; target: string | null }> }
> = {
  'POST /v1/exports': {
    what: 'export.request',
    async do(app) {
      const answer = await send(api, app, '/v1/exports', {})
      return { ...answer, target: (answer.body as { export_id: string }).export_id }
    },
  },
  'DELETE /v3/user_profiles/bulk_import/:import_id': {
    what: 'import.cancel',
    async do(app) {
      const importId = await queueFile(api, app.appId, 'user_id,a\nalice,1\n')
      const path = `/v3/user_profiles/bulk_import/${importId}`
      return { ...(await send(api, app, path, undefined, { method: 'DELETE' })), target: importId }
    },
  },
  'POST /v3/user_profiles/bulk_import/:import_id/approve': {
    what: 'import.approve',
    async do(app) {
      const importId = await queueFile(api, app.appId, 'user_id,a\nalice,1\n')
      await holdImport(api.database.db, importId)
      const path = `/v3/user_profiles/bulk_import/${importId}/approve`
      return { ...(await send(api, app, path, undefined, { method: 'POST' })), target: importId }
    },
  },
  'POST /v3/user_profiles/bulk_import/:import_id/undo': {
    what: 'import.undo',
    async do(app) {
      const importId = await queueFile(api, app.appId, 'user_id,a\nalice,1\n')
      await api.database.db
        .updateTable('imports')
        .set({ state: 'completed', keep_changes: true, changes_file_key: 'changes' })
        .where('import_id', '=', importId)
        .execute()
      return { ...(await send(api, app, `/v3/user_profiles/bulk_import/${importId}/undo`, {})), target: importId }
    },
  },
  'PATCH /v1/profile_keys/:key': {
    what: 'key.change',
    async do(app) {
      await send(api, app, '/v1/profile_keys', { profile_keys: [{ key: 'plan', type: 'string' }] })
      const body = { enabled: false, description: 'secret-user' }
      const answer = await send(api, app, '/v1/profile_keys/plan', body, { method: 'PATCH' })
      return { ...answer, target: 'disabled and described: plan' }
    },
  },
  'POST /v3/user_data_deletions': {
    what: 'deletion.request',
    async do(app) {
      const body = { identity_type: 'user_id', identity_value: ['alice', 'secret-user'] }
      return { ...(await send(api, app, '/v3/user_data_deletions', body)), target: '2 users' }
    },
  },
}

/** Routes that change only imports, users and values, which have their own records. */
const apiSilent = [
  'POST /v3/user_profiles/bulk_import',
  'POST /v2/user_profiles/bulk_import',
  'POST /v2/user_profiles',
  'POST /v1/users',
  'POST /v1/profile_keys',
  'DELETE /v1/users/:user_id/profiles/:key',
]

// changes.md §2, The decision.
test('every route of the API that may change something is in a list, and leaves its entry', async () => {
  const routes = Object.entries(api.api.auditedRoutes())
  const names = (isSilent: boolean) =>
    routes
      .filter(([, audit]) => (audit !== undefined && 'unrecordedBecause' in audit) === isSilent)
      .map(([route]) => route)
  expect(names(false).sort()).toEqual(Object.keys(apiRecorded).sort())
  expect(names(true).sort()).toEqual(apiSilent.toSorted())
  const app = await openApp(api, ['alice'])
  for (const { what, do: act } of Object.values(apiRecorded)) {
    const { status, target } = await act(app)
    expect(status).toBeLessThan(300)
    const who = { who: `…${app.token.slice(-4)}`, who_type: 'token' }
    expect(await newest()).toMatchObject({
      app_id: app.appId,
      ...who,
      what,
      target,
      outcome: 'done',
      address: '127.0.0.1',
    })
  }
  const { entries } = await auditLogPage(api.database.db, { appId: app.appId }, 100)
  expect(JSON.stringify(entries)).not.toMatch(/secret-user|alice|slc_/)
})

test('an import that is cancelled again leaves an entry that says that nothing changed', async () => {
  const app = await openApp(api, [])
  const importId = await queueFile(api, app.appId, 'user_id,a\nalice,1\n')
  for (const outcome of ['done', 'unchanged']) {
    const path = `/v3/user_profiles/bulk_import/${importId}`
    expect((await send(api, app, path, undefined, { method: 'DELETE' })).status).toBe(200)
    expect(await newest()).toMatchObject({ what: 'import.cancel', target: importId, outcome })
  }
})

test.each([
  ['a proxy names the client', '10.1.2.3', '203.0.113.7', '203.0.113.7'],
  ['a stranger names another client', '10.2.0.1', '203.0.113.7', '10.2.0.1'],
  ['a proxy names something that is no address', '10.1.2.3', `203.0.113.7, ${'a'.repeat(4_000)}`, '10.1.2.3'],
  ['the client names something before', '10.1.2.3', `${'a'.repeat(4_000)}, 203.0.113.7`, '203.0.113.7'],
  ['the client names an address with a zone before', '10.1.2.3', `fe80::1%${'a'.repeat(4_000)}, 10.1.9.9`, '10.1.9.9'],
  ['a proxy names the client with a port', '10.1.2.3', '203.0.113.7:4711', '203.0.113.7'],
])('the address in the log is the client’s only if a trusted proxy names it: %s', async (_, from, named, address) => {
  const app = await openApp(api, [])
  const body = { identity_type: 'user_id', identity_value: ['alice'] }
  const headers = { 'x-service-token': app.token, 'x-forwarded-for': named }
  const url = '/v3/user_data_deletions'
  const { statusCode } = await api.api.inject({ method: 'POST', url, payload: body, headers, remoteAddress: from })
  expect(statusCode).toBe(202)
  expect(await newest()).toMatchObject({ app_id: app.appId, address })
})
