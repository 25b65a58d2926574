import { auditLogPage } from '@sluice/audit-log'
import { sql } from '@sluice/database'
import { cancelImport } from '@sluice/imports'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../dashboard/test-dashboard.ts'
import { formTokenIn, openVisitor, signIn } from '../dashboard/visitor.ts'
import { queueFile } from '../imports/import-fixture.ts'
import { appForms } from './audited-app-forms.ts'
import { type AuditedDashboard, columnMapping, newest, openAuditedDashboard } from './audited-dashboard.ts'
import { importForms } from './audited-import-forms.ts'
import { operatorForms } from './audited-operator-forms.ts'

// Whatever changes something leaves its entry in the audit log. A new route must join one of the lists.
let site: AuditedDashboard
beforeAll(async () => {
  site = await openAuditedDashboard()
})
afterAll(async () => {
  await site.dashboard.close()
})

const recorded = { ...appForms, ...importForms, ...operatorForms }

/** Routes whose requests change nothing that the audit log records. */
const silent = [
  'POST /theme',
  'POST /sign-in',
  'POST /sign-out',
  'POST /apps/:appId/data-import',
  'POST /apps/:appId/data-import/dry-run',
  'POST /apps/:appId/data-import/mappings/find',
  'POST /apps/:appId/imports/:importId/undo/dry-run',
  'POST /apps/:appId/profiles/deletion/check',
]

const people = { operator: 'operator@example.com', guest: 'dora@example.com', member: 'anna@example.com' }

// second-day.md §6, Audit log.
test('every route of the dashboard that may change something is in a list', () => {
  const routes = Object.entries(site.dashboard.auditedRoutes())
  const names = (isSilent: boolean) =>
    routes
      .filter(([, audit]) => (audit !== undefined && 'unrecordedBecause' in audit) === isSilent)
      .map(([route]) => route)
  expect(names(false).sort()).toEqual(Object.keys(recorded).sort())
  expect(names(true).sort()).toEqual(silent.toSorted())
})

// second-day.md §6, Limits.
test.each(Object.entries(recorded))('%s leaves its entry', async (_, action) => {
  const { status, target } = await action.do(site)
  expect(status).toBe(action.status ?? 303)
  const type = action.by ?? 'member'
  expect(await newest(site.dashboard.db)).toEqual({
    at: expect.any(String),
    app_id: action.ofAll ? null : site.appId,
    who: people[type],
    who_type: type,
    what: action.what,
    target: target ?? null,
    outcome: 'done',
    address: '127.0.0.1',
    request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
  })
})

/** Actions that change nothing, because the preceding actions have left things so. */
const repeated: [string, () => Promise<{ status: number }>][] = [
  [
    'invitation.withdraw',
    () => site.asMember(`${site.settings}/invitations/withdraw`, { email: 'ben@example.com' }, site.settings),
  ],
  ['app.set', () => site.asMember(`${site.settings}/imports`, { new_keys: 'refuse' }, site.settings)],
  ['member.mails', () => site.asMember(`${site.settings}/mails`, { shown: 'anna@example.com' }, site.settings)],
  ['member.mails', () => site.asMember(`${site.settings}/mails`, { shown: 'nobody@example.com' }, site.settings)],
  [
    'access_key.delete',
    () => site.asMember(`/apps/${site.appId}/credentials/access-keys/delete`, { key: 'gone' }, site.settings),
  ],
  [
    'token.register',
    () =>
      site.asMember(
        `/apps/${site.appId}/credentials/api-token`,
        { replaces: 'gone' },
        `/apps/${site.appId}/credentials/api-token`,
      ),
  ],
  ['webhook.remove', () => site.asMember(`${site.webhooks}/remove`, { endpoint: crypto.randomUUID() }, site.settings)],
  [
    'import.cancel',
    async () => {
      const importId = await queueFile(
        { database: site.dashboard, storage: site.dashboard.storage },
        site.appId,
        'user_id,a\nx,1\n',
      )
      await cancelImport(site.dashboard.db, { appId: site.appId, importId })
      return await site.asMember(`/apps/${site.appId}/imports/${importId}/cancel`, {}, site.settings)
    },
  ],
  [
    'key.change',
    () => site.asMember(`/apps/${site.appId}/profiles/key`, { key: 'plan', enabled: 'false' }, site.settings),
  ],
  ['column_mapping.forget', () => site.asMember(`${site.dataImport}/mappings/forget`, columnMapping, site.dataImport)],
  ['app.resume', () => site.asOperator(`/apps/${site.appId}/operation/resume`, `/apps/${site.appId}/operation`)],
  [
    'app.limits',
    () =>
      site.operator.post(
        `/apps/${site.appId}/operation/limits`,
        { bulk_import: '100/10m', profile_keys: '' },
        `/apps/${site.appId}/operation`,
      ),
  ],
  ['service.resume', () => site.asOperator('/queues/resume', '/queues')],
  ['queue.change', () => site.asOperator('/queues/jobs/mails/resume', '/queues/jobs')],
]

test.each(repeated)('%s that changes nothing leaves an entry that says so (%#)', async (what, act) => {
  expect((await act()).status).toBeLessThan(400)
  expect(await newest(site.dashboard.db)).toMatchObject({ what, outcome: 'unchanged' })
})

test('whoever unsubscribes twice leaves one entry', async () => {
  const { unsubscribe_key: key, email } = await site.dashboard.db
    .updateTable('members')
    .set({ gets_mails: true })
    .where('email', '=', 'anna@example.com')
    .returning(['unsubscribe_key', 'email'])
    .executeTakeFirstOrThrow()
  const before = (await auditLogPage(site.dashboard.db, {}, 1000)).entries.length
  for (let time = 1; time <= 2; time++) {
    expect((await openVisitor(site.dashboard).post(`/unsubscribe/${site.appId}/${key}`)).status).toBe(200)
  }
  expect((await auditLogPage(site.dashboard.db, {}, 1000)).entries).toHaveLength(before + 1)
  expect(await newest(site.dashboard.db)).toMatchObject({
    what: 'member.mails',
    target: email,
    outcome: 'done',
  })
})

test('one person cannot fill the log: after a burst, there are two entries a second', async () => {
  const { appId: app } = await openApp(site.dashboard, 'Fast', 'fast@example.com')
  const fast = await signIn(site.dashboard, 'fast@example.com')
  const form_token = formTokenIn((await fast.get(`/apps/${app}/settings`)).text)
  const began = performance.now()
  for (let form = 0; form < 45; form++) {
    expect((await fast.postWithoutToken(`/apps/${app}/settings/mails`, { form_token })).status).toBe(303)
  }
  const seconds = (performance.now() - began) / 1000
  const { entries } = await auditLogPage(site.dashboard.db, { appId: app }, 1000)
  expect(entries.filter(({ what }) => what === 'member.mails').length).toBeLessThanOrEqual(40 + 2 * seconds + 1)
})

test('a refused action leaves an entry too, and one that nobody may see none', async () => {
  expect((await site.asMember(`${site.settings}/members`, { email: 'not an address' }, site.settings)).status).toBe(400)
  const refused = { what: 'member.invite', target: 'not an address', outcome: 'refused' }
  expect(await newest(site.dashboard.db)).toMatchObject(refused)
  expect((await site.asMember(`/apps/${site.appId + 1}/settings/mails`, {}, site.settings)).status).toBe(404)
  expect((await site.asMember('/queues/pause', {}, site.settings)).status).toBe(404)
  expect(await newest(site.dashboard.db)).toMatchObject(refused)
})

test('without a log nothing happens: an action whose entry cannot be written is not carried out', async () => {
  await sql`alter table audit_log rename to audit_log_away`.execute(site.dashboard.db)
  try {
    expect((await site.asOperator('/queues/pause', '/queues')).status).toBe(500)
    expect(await site.dashboard.db.selectFrom('service_pause').selectAll().execute()).toEqual([])
  } finally {
    await sql`alter table audit_log_away rename to audit_log`.execute(site.dashboard.db)
  }
})
