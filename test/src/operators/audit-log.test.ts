import { createAccessKey } from '@sluice/access-keys'
import { showToken } from '@sluice/accounts'
import { type AuditAction, auditLogPage } from '@sluice/audit-log'
import { sql } from '@sluice/database'
import { cancelImport } from '@sluice/imports'
import { openQueues } from '@sluice/queue'
import { type InvitationOutcome, inviteMember } from '@sluice/sign-in'
import { listEndpoints } from '@sluice/webhooks'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { signInAddress } from '../dashboard/sign-in-address.ts'
import {
  openApp,
  openOperator,
  openTestDashboard,
  type TestDashboard,
  testGateway,
} from '../dashboard/test-dashboard.ts'
import { formTokenIn, openVisitor, signIn, type Visitor } from '../dashboard/visitor.ts'
import { queueFile } from '../imports/import-fixture.ts'

// Whatever changes something leaves its entry in the audit log. A new route must join one of the lists here.
let dashboard: TestDashboard
let [member, operator]: Visitor[] = []
let appId: number
beforeAll(async () => {
  dashboard = await openTestDashboard()
  await openOperator(dashboard)
  appId = (await openApp(dashboard, 'Shop', 'anna@example.com')).appId
  member = await signIn(dashboard, 'anna@example.com')
  operator = await signIn(dashboard, 'operator@example.com')
})
afterAll(async () => {
  await dashboard.close()
})

const newest = async (db: TestDashboard['db']) => (await auditLogPage(db, {}, 1)).entries[0]

/** What a member does on a page, and the target that the log names. */
interface Action {
  what: AuditAction
  do(route: string): Promise<{ status: number; target?: string | null }>
  by?: 'operator' | 'guest'
  /** The status of the answer if it is not 303. */
  status?: number
  /** The event concerns all apps. */
  ofAll?: true
}

const asMember = (path: string, fields: Record<string, string> = {}, from?: string) =>
  (member as Visitor).post(path, fields, from)
const asOperator = (path: string, from: string) => (operator as Visitor).post(path, {}, from)
const settings = () => `/apps/${appId}/settings`
const dataImport = () => `/apps/${appId}/data-import`
const columnMapping = {
  columns: '["ID"]',
  mapping: '[{"name":"ID","key":"user_id","left_out":false,"form":"as-is"}]',
}

const profiles = () => `/apps/${appId}/profiles`
const webhooks = () => `/apps/${appId}/webhooks`
const newestEndpoint = async () => (await listEndpoints(dashboard.db, appId)).at(-1)?.endpointId

async function onEndpoint(action: 'enable' | 'rotate' | 'test' | 'remove') {
  const endpoint = (await newestEndpoint()) ?? ''
  return { ...(await asMember(`${webhooks()}/${action}`, { endpoint }, webhooks())), target: endpoint }
}

async function invite(email: string): Promise<Extract<InvitationOutcome, { outcome: 'invited' }>> {
  const invited = await inviteMember(dashboard.db, appId, { email, by: 'anna@example.com', memberLimit: 100 })
  if (invited.outcome !== 'invited') throw new Error(invited.outcome)
  return invited
}

async function acceptInvitation() {
  // A person with access is not signed in, so that the acceptance is the last entry.
  await openApp(dashboard, 'Elsewhere', 'dora@example.com')
  const { secret } = await invite('dora@example.com')
  return await openVisitor(dashboard).post(`/invitations/${appId}/${secret}`)
}

const recorded: Record<string, Action> = {
  'POST /sign-in/:secret': {
    what: 'sign_in',
    do: async () => openVisitor(dashboard).post(await signInAddress(dashboard, 'anna@example.com')),
  },
  'POST /apps/:appId/settings/members': {
    what: 'member.invite',
    do: async () => ({
      ...(await asMember(`${settings()}/members`, { email: 'ben@example.com' }, settings())),
      target: 'ben@example.com',
    }),
  },
  'POST /apps/:appId/settings/invitations/withdraw': {
    what: 'invitation.withdraw',
    do: async () => ({
      ...(await asMember(`${settings()}/invitations/withdraw`, { email: 'ben@example.com' }, settings())),
      target: 'ben@example.com',
    }),
  },
  'POST /invitations/:app/:secret': {
    what: 'invitation.accept',
    by: 'guest',
    status: 200,
    do: acceptInvitation,
  },
  'POST /unsubscribe/:app/:key': {
    what: 'member.mails',
    by: 'guest',
    status: 200,
    async do() {
      const email = 'dora@example.com'
      const { unsubscribe_key: key } = await dashboard.db
        .selectFrom('members')
        .select('unsubscribe_key')
        .where('app_id', '=', appId)
        .where('email', '=', email)
        .executeTakeFirstOrThrow()
      return { ...(await openVisitor(dashboard).post(`/unsubscribe/${appId}/${key}`)), target: email }
    },
  },
  'POST /apps/:appId/settings/imports': {
    what: 'app.set',
    do: async () => ({
      ...(await asMember(`${settings()}/imports`, { new_keys: 'refuse' }, settings())),
      target: 'new keys: refuse, keep changes: false',
    }),
  },
  'POST /apps/:appId/settings/mails': {
    what: 'member.mails',
    do: async () => ({
      ...(await asMember(`${settings()}/mails`, { shown: 'anna@example.com' }, settings())),
      target: 'none to anna@example.com',
    }),
  },
  'POST /apps/:appId/settings/members/remove': {
    what: 'member.remove',
    do: async () => ({
      ...(await asMember(
        `${settings()}/members/remove`,
        { member: 'dora@example.com' },
        `${settings()}/members/remove?member=dora@example.com`,
      )),
      target: 'dora@example.com',
    }),
  },
  'POST /apps/:appId/credentials/access-keys': {
    what: 'access_key.create',
    status: 200,
    async do() {
      const address = `/apps/${appId}/credentials`
      const answer = await asMember(`${address}/access-keys`, {}, address)
      return { ...answer, target: /SLC\d+K[0-9A-F]{16}/.exec(answer.text)?.[0] ?? null }
    },
  },
  'POST /apps/:appId/credentials/access-keys/delete': {
    what: 'access_key.delete',
    async do() {
      const { accessKeyId: key } = await createAccessKey(dashboard.db, testGateway.encryptionKeys, appId)
      const address = `/apps/${appId}/credentials/access-keys/delete`
      return { ...(await asMember(address, { key }, `${address}?key=${key}`)), target: key }
    },
  },
  'POST /apps/:appId/credentials/api-token': {
    what: 'token.register',
    status: 200,
    async do() {
      const { lastFour: replaces } = await showToken(dashboard.db, appId)
      const answer = await asMember(`/apps/${appId}/credentials/api-token`, { replaces })
      return { ...answer, target: `…${(await showToken(dashboard.db, appId)).lastFour}` }
    },
  },
  'POST /apps/:appId/webhooks': {
    what: 'webhook.add',
    status: 200,
    async do() {
      const answer = await asMember(webhooks(), { url: 'https://example.com/', event: 'import.failed' })
      return { ...answer, target: (await newestEndpoint()) ?? null }
    },
  },
  'POST /apps/:appId/webhooks/rotate': {
    what: 'webhook.rotate',
    status: 200,
    do: () => onEndpoint('rotate'),
  },
  'POST /apps/:appId/webhooks/test': { what: 'webhook.test', do: () => onEndpoint('test') },
  'POST /apps/:appId/webhooks/send-again': {
    what: 'webhook.send_again',
    async do() {
      const { delivery_id: delivery } = await dashboard.db
        .selectFrom('webhook_deliveries')
        .select('delivery_id')
        .executeTakeFirstOrThrow()
      return { ...(await asMember(`${webhooks()}/send-again`, { delivery }, webhooks())), target: delivery }
    },
  },
  'POST /apps/:appId/webhooks/enable': {
    what: 'webhook.enable',
    async do() {
      await dashboard.db.updateTable('webhook_endpoints').set({ disabled_at: new Date() }).execute()
      return await onEndpoint('enable')
    },
  },
  'POST /apps/:appId/webhooks/remove': { what: 'webhook.remove', do: () => onEndpoint('remove') },
  'POST /apps/:appId/imports/:importId/cancel': {
    what: 'import.cancel',
    async do() {
      const importId = await queueFile({ database: dashboard, storage: dashboard.storage }, appId, 'user_id,a\nx,1\n')
      return { ...(await asMember(`/apps/${appId}/imports/${importId}/cancel`)), target: importId }
    },
  },
  'POST /apps/:appId/imports/:importId/approve': {
    what: 'import.approve',
    async do() {
      const importId = await queueFile({ database: dashboard, storage: dashboard.storage }, appId, 'user_id,a\nx,1\n')
      await dashboard.db
        .updateTable('imports')
        .set({ state: 'held', hold_if: '"always"', held_reasons: ['every import is held'] })
        .set({ held_at: new Date(), held_until: new Date(Date.now() + 3_600_000) })
        .where('import_id', '=', importId)
        .execute()
      return { ...(await asMember(`/apps/${appId}/imports/${importId}/approve`)), target: importId }
    },
  },
  'POST /apps/:appId/imports/:importId/retry': {
    what: 'import.retry',
    async do() {
      const importId = await queueFile({ database: dashboard, storage: dashboard.storage }, appId, 'user_id,a\nx,1\n')
      await cancelImport(dashboard.db, importId)
      return { ...(await asMember(`/apps/${appId}/imports/${importId}/retry`)), target: importId }
    },
  },
  'POST /apps/:appId/imports/:importId/undo': {
    what: 'import.undo',
    async do() {
      const importId = await queueFile({ database: dashboard, storage: dashboard.storage }, appId, 'user_id,a\nx,1\n')
      await dashboard.db
        .updateTable('imports')
        .set({ state: 'completed', finished_at: new Date(), keep_changes: true })
        .set({ changes_file_key: 'changes', changes_file_secret: 'secret' })
        .where('import_id', '=', importId)
        .execute()
      return { ...(await asMember(`/apps/${appId}/imports/${importId}/undo`)), target: importId }
    },
  },
  'POST /apps/:appId/imports/:importId/import': {
    what: 'import.start',
    async do() {
      const importId = await queueFile(
        { database: dashboard, storage: dashboard.storage },
        appId,
        'user_id,a\nx,1\n',
        'text/csv',
        true,
      )
      await dashboard.db.updateTable('imports').set({ state: 'completed' }).where('import_id', '=', importId).execute()
      return { ...(await asMember(`/apps/${appId}/imports/${importId}/import`)), target: importId }
    },
  },
  'POST /apps/:appId/data-import/mappings/keep': {
    what: 'column_mapping.keep',
    status: 204,
    do: async () => ({
      ...(await asMember(`${dataImport()}/mappings/keep`, columnMapping, dataImport())),
      target: '1 column',
    }),
  },
  'POST /apps/:appId/data-import/mappings/forget': {
    what: 'column_mapping.forget',
    status: 204,
    do: async () => ({
      ...(await asMember(`${dataImport()}/mappings/forget`, columnMapping, dataImport())),
      target: '1 column',
    }),
  },
  'POST /apps/:appId/profiles/key': {
    what: 'key.change',
    async do() {
      await dashboard.db.insertInto('profile_keys').values({ app_id: appId, key: 'plan', type: 'string' }).execute()
      const answer = await asMember(`${profiles()}/key`, { key: 'plan', enabled: 'false' }, profiles())
      return { ...answer, target: 'disabled: plan' }
    },
  },
  'POST /apps/:appId/profiles/exports': {
    what: 'export.request',
    async do() {
      const answer = await asMember(`${profiles()}/exports`, {}, profiles())
      const [newest] = await dashboard.db.selectFrom('exports').select('export_id').execute()
      return { ...answer, target: newest?.export_id ?? null }
    },
  },
  'POST /apps/:appId/profiles/deletion': {
    what: 'deletion.request',
    do: async () => ({
      ...(await asMember(`${profiles()}/deletion`, { users: 'alice\nbob' }, profiles())),
      target: '2 users',
    }),
  },
  'POST /apps/:appId/operation/pause': {
    what: 'app.pause',
    by: 'operator',
    do: () => asOperator(`/apps/${appId}/operation/pause`, `/apps/${appId}/operation`),
  },
  'POST /apps/:appId/operation/resume': {
    what: 'app.resume',
    by: 'operator',
    do: () => asOperator(`/apps/${appId}/operation/resume`, `/apps/${appId}/operation`),
  },
  'POST /apps/:appId/operation/limits': {
    what: 'app.limits',
    by: 'operator',
    async do() {
      const address = `/apps/${appId}/operation`
      const fields = { bulk_import: '100/10m', profile_keys: '' }
      const answer = await (operator as Visitor).post(`${address}/limits`, fields, address)
      return { ...answer, target: 'bulk imports 100/10m, profile keys default' }
    },
  },
  'POST /imports/retry': {
    what: 'import.retry',
    by: 'operator',
    ofAll: true,
    status: 200,
    do: async () => ({ ...(await asOperator('/imports/retry', '/queues')), target: '0 imports of 0 apps' }),
  },
  'POST /imports/cancel': {
    what: 'import.cancel',
    by: 'operator',
    ofAll: true,
    status: 200,
    do: async () => ({ ...(await asOperator('/imports/cancel', '/queues')), target: '0 imports of 0 apps' }),
  },
  'POST /queues/pause': {
    what: 'service.pause',
    by: 'operator',
    ofAll: true,
    do: () => asOperator('/queues/pause', '/queues'),
  },
  'POST /queues/resume': {
    what: 'service.resume',
    by: 'operator',
    ofAll: true,
    do: () => asOperator('/queues/resume', '/queues'),
  },
  'POST /queues/jobs/:queue/pause': {
    what: 'queue.change',
    by: 'operator',
    ofAll: true,
    do: async () => ({ ...(await asOperator('/queues/jobs/mails/pause', '/queues/jobs')), target: 'pause mails' }),
  },
  'POST /queues/jobs/:queue/resume': {
    what: 'queue.change',
    by: 'operator',
    ofAll: true,
    do: async () => ({ ...(await asOperator('/queues/jobs/mails/resume', '/queues/jobs')), target: 'resume mails' }),
  },
  'POST /queues/jobs/:queue/remove': {
    what: 'queue.change',
    by: 'operator',
    ofAll: true,
    async do() {
      const queues = openQueues({ databaseUrl: dashboard.database.url }, () => {})
      await queues.add('mails', [{ id: 'a-mail', payload: { appId, mailId: 'a-mail' } }])
      await queues.close()
      const answer = await (operator as Visitor).post('/queues/jobs/mails/remove', { job: 'a-mail' }, '/queues/jobs')
      return { ...answer, target: 'remove a-mail of mails' }
    },
  },
}

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
  const routes = Object.entries(dashboard.auditedRoutes())
  const names = (isSilent: boolean) =>
    routes
      .filter(([, audit]) => (audit !== undefined && 'unrecordedBecause' in audit) === isSilent)
      .map(([route]) => route)
  expect(names(false).sort()).toEqual(Object.keys(recorded).sort())
  expect(names(true).sort()).toEqual(silent.toSorted())
})

test.each(Object.entries(recorded))('%s leaves its entry', async (route, action) => {
  const { status, target } = await action.do(route)
  expect(status).toBe(action.status ?? 303)
  const type = action.by ?? 'member'
  expect(await newest(dashboard.db)).toEqual({
    at: expect.any(String),
    app_id: action.ofAll ? null : appId,
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
    () => asMember(`${settings()}/invitations/withdraw`, { email: 'ben@example.com' }, settings()),
  ],
  ['app.set', () => asMember(`${settings()}/imports`, { new_keys: 'refuse' }, settings())],
  ['member.mails', () => asMember(`${settings()}/mails`, { shown: 'anna@example.com' }, settings())],
  ['member.mails', () => asMember(`${settings()}/mails`, { shown: 'nobody@example.com' }, settings())],
  ['access_key.delete', () => asMember(`/apps/${appId}/credentials/access-keys/delete`, { key: 'gone' }, settings())],
  [
    'token.register',
    () =>
      asMember(`/apps/${appId}/credentials/api-token`, { replaces: 'gone' }, `/apps/${appId}/credentials/api-token`),
  ],
  ['webhook.remove', () => asMember(`${webhooks()}/remove`, { endpoint: crypto.randomUUID() }, settings())],
  [
    'import.cancel',
    async () => {
      const importId = await queueFile({ database: dashboard, storage: dashboard.storage }, appId, 'user_id,a\nx,1\n')
      await cancelImport(dashboard.db, importId)
      return await asMember(`/apps/${appId}/imports/${importId}/cancel`, {}, settings())
    },
  ],
  ['key.change', () => asMember(`/apps/${appId}/profiles/key`, { key: 'plan', enabled: 'false' }, settings())],
  ['column_mapping.forget', () => asMember(`${dataImport()}/mappings/forget`, columnMapping, dataImport())],
  ['app.resume', () => asOperator(`/apps/${appId}/operation/resume`, `/apps/${appId}/operation`)],
  [
    'app.limits',
    () =>
      (operator as Visitor).post(
        `/apps/${appId}/operation/limits`,
        { bulk_import: '100/10m', profile_keys: '' },
        `/apps/${appId}/operation`,
      ),
  ],
  ['service.resume', () => asOperator('/queues/resume', '/queues')],
  ['queue.change', () => asOperator('/queues/jobs/mails/resume', '/queues/jobs')],
]

test.each(repeated)('%s that changes nothing leaves an entry that says so (%#)', async (what, act) => {
  expect((await act()).status).toBeLessThan(400)
  expect(await newest(dashboard.db)).toMatchObject({ what, outcome: 'unchanged' })
})

test('whoever unsubscribes twice leaves one entry', async () => {
  const { unsubscribe_key: key, email } = await dashboard.db
    .updateTable('members')
    .set({ gets_mails: true })
    .where('email', '=', 'anna@example.com')
    .returning(['unsubscribe_key', 'email'])
    .executeTakeFirstOrThrow()
  const before = (await auditLogPage(dashboard.db, {}, 1000)).entries.length
  for (let time = 1; time <= 2; time++) {
    expect((await openVisitor(dashboard).post(`/unsubscribe/${appId}/${key}`)).status).toBe(200)
  }
  expect((await auditLogPage(dashboard.db, {}, 1000)).entries).toHaveLength(before + 1)
  expect(await newest(dashboard.db)).toMatchObject({
    what: 'member.mails',
    target: email,
    outcome: 'done',
  })
})

test('one person cannot fill the log: after a burst, there are two entries a second', async () => {
  const { appId: app } = await openApp(dashboard, 'Fast', 'fast@example.com')
  const fast = await signIn(dashboard, 'fast@example.com')
  const form_token = formTokenIn((await fast.get(`/apps/${app}/settings`)).text)
  const began = performance.now()
  for (let form = 0; form < 45; form++) {
    expect((await fast.postWithoutToken(`/apps/${app}/settings/mails`, { form_token })).status).toBe(303)
  }
  const seconds = (performance.now() - began) / 1000
  const { entries } = await auditLogPage(dashboard.db, { appId: app }, 1000)
  expect(entries.filter(({ what }) => what === 'member.mails').length).toBeLessThanOrEqual(40 + 2 * seconds + 1)
})

test('a refused action leaves an entry too, and one that nobody may see none', async () => {
  expect((await asMember(`${settings()}/members`, { email: 'not an address' }, settings())).status).toBe(400)
  const refused = { what: 'member.invite', target: 'not an address', outcome: 'refused' }
  expect(await newest(dashboard.db)).toMatchObject(refused)
  expect((await asMember(`/apps/${appId + 1}/settings/mails`, {}, settings())).status).toBe(404)
  expect((await asMember('/queues/pause', {}, settings())).status).toBe(404)
  expect(await newest(dashboard.db)).toMatchObject(refused)
})

test('without a log nothing happens: an action whose entry cannot be written is not carried out', async () => {
  await sql`alter table audit_log rename to audit_log_away`.execute(dashboard.db)
  try {
    expect((await asOperator('/queues/pause', '/queues')).status).toBe(500)
    expect(await dashboard.db.selectFrom('service_pause').selectAll().execute()).toEqual([])
  } finally {
    await sql`alter table audit_log_away rename to audit_log`.execute(dashboard.db)
  }
})
