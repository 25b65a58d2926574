import { createAccessKey } from '@sluice/access-keys'
import { showToken } from '@sluice/accounts'
import { type InvitationOutcome, inviteMember } from '@sluice/sign-in'
import { listEndpoints } from '@sluice/webhooks'
import { signInAddress } from '../dashboard/sign-in-address.ts'
import { encryptionKeys, openApp } from '../dashboard/test-dashboard.ts'
import { openVisitor } from '../dashboard/visitor.ts'
import type { Action, AuditedDashboard } from './audited-dashboard.ts'

const newestEndpoint = async ({ dashboard, appId }: AuditedDashboard) =>
  (await listEndpoints(dashboard.db, appId)).at(-1)?.endpointId

async function onEndpoint(site: AuditedDashboard, action: 'enable' | 'rotate' | 'test' | 'remove') {
  const endpoint = (await newestEndpoint(site)) ?? ''
  return { ...(await site.asMember(`${site.webhooks}/${action}`, { endpoint }, site.webhooks)), target: endpoint }
}

async function invite(
  { dashboard, appId }: AuditedDashboard,
  email: string,
): Promise<Extract<InvitationOutcome, { outcome: 'invited' }>> {
  const invited = await inviteMember(dashboard.db, appId, { email, by: 'anna@example.com', memberLimit: 100 })
  if (invited.outcome !== 'invited') throw new Error(invited.outcome)
  return invited
}

async function acceptInvitation(site: AuditedDashboard) {
  // A person with access is not signed in, so that the acceptance is the last entry.
  await openApp(site.dashboard, 'Elsewhere', 'dora@example.com')
  const { secret } = await invite(site, 'dora@example.com')
  return await openVisitor(site.dashboard).post(`/invitations/${site.appId}/${secret}`)
}

/** Forms about the access to an app and its webhooks. Each leaves an entry. */
export const appForms: Record<string, Action> = {
  'POST /sign-in/:secret': {
    what: 'sign_in',
    do: async (site) => openVisitor(site.dashboard).post(await signInAddress(site.dashboard, 'anna@example.com')),
  },
  'POST /apps/:appId/settings/members': {
    what: 'member.invite',
    do: async (site) => ({
      ...(await site.asMember(`${site.settings}/members`, { email: 'ben@example.com' }, site.settings)),
      target: 'ben@example.com',
    }),
  },
  'POST /apps/:appId/settings/invitations/withdraw': {
    what: 'invitation.withdraw',
    do: async (site) => ({
      ...(await site.asMember(`${site.settings}/invitations/withdraw`, { email: 'ben@example.com' }, site.settings)),
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
    async do(site) {
      const email = 'dora@example.com'
      const { unsubscribe_key: key } = await site.dashboard.db
        .selectFrom('members')
        .select('unsubscribe_key')
        .where('app_id', '=', site.appId)
        .where('email', '=', email)
        .executeTakeFirstOrThrow()
      return { ...(await openVisitor(site.dashboard).post(`/unsubscribe/${site.appId}/${key}`)), target: email }
    },
  },
  'POST /apps/:appId/settings/imports': {
    what: 'app.set',
    do: async (site) => ({
      ...(await site.asMember(`${site.settings}/imports`, { new_keys: 'refuse' }, site.settings)),
      target: 'new keys: refuse, keep changes: false',
    }),
  },
  'POST /apps/:appId/settings/mails': {
    what: 'member.mails',
    do: async (site) => ({
      ...(await site.asMember(`${site.settings}/mails`, { shown: 'anna@example.com' }, site.settings)),
      target: 'none to anna@example.com',
    }),
  },
  'POST /apps/:appId/settings/members/remove': {
    what: 'member.remove',
    do: async (site) => ({
      ...(await site.asMember(
        `${site.settings}/members/remove`,
        { member: 'dora@example.com' },
        `${site.settings}/members/remove?member=dora@example.com`,
      )),
      target: 'dora@example.com',
    }),
  },
  'POST /apps/:appId/credentials/access-keys': {
    what: 'access_key.create',
    status: 200,
    async do(site) {
      const address = `/apps/${site.appId}/credentials`
      const answer = await site.asMember(`${address}/access-keys`, {}, address)
      return { ...answer, target: /SLC\d+K[0-9A-F]{16}/.exec(answer.text)?.[0] ?? null }
    },
  },
  'POST /apps/:appId/credentials/access-keys/delete': {
    what: 'access_key.delete',
    async do(site) {
      const { accessKeyId: key } = await createAccessKey(site.dashboard.db, encryptionKeys, site.appId)
      const address = `/apps/${site.appId}/credentials/access-keys/delete`
      return { ...(await site.asMember(address, { key }, `${address}?key=${key}`)), target: key }
    },
  },
  'POST /apps/:appId/credentials/api-token': {
    what: 'token.register',
    status: 200,
    async do(site) {
      const { lastFour: replaces } = await showToken(site.dashboard.db, site.appId)
      const answer = await site.asMember(`/apps/${site.appId}/credentials/api-token`, { replaces })
      return { ...answer, target: `…${(await showToken(site.dashboard.db, site.appId)).lastFour}` }
    },
  },
  'POST /apps/:appId/webhooks': {
    what: 'webhook.add',
    status: 200,
    async do(site) {
      const answer = await site.asMember(site.webhooks, { url: 'https://example.com/', event: 'import.failed' })
      return { ...answer, target: (await newestEndpoint(site)) ?? null }
    },
  },
  'POST /apps/:appId/webhooks/rotate': {
    what: 'webhook.rotate',
    status: 200,
    do: (site) => onEndpoint(site, 'rotate'),
  },
  'POST /apps/:appId/webhooks/test': { what: 'webhook.test', do: (site) => onEndpoint(site, 'test') },
  'POST /apps/:appId/webhooks/send-again': {
    what: 'webhook.send_again',
    async do(site) {
      const { delivery_id: delivery } = await site.dashboard.db
        .selectFrom('webhook_deliveries')
        .select('delivery_id')
        .executeTakeFirstOrThrow()
      return { ...(await site.asMember(`${site.webhooks}/send-again`, { delivery }, site.webhooks)), target: delivery }
    },
  },
  'POST /apps/:appId/webhooks/enable': {
    what: 'webhook.enable',
    async do(site) {
      await site.dashboard.db.updateTable('webhook_endpoints').set({ disabled_at: new Date() }).execute()
      return await onEndpoint(site, 'enable')
    },
  },
  'POST /apps/:appId/webhooks/remove': { what: 'webhook.remove', do: (site) => onEndpoint(site, 'remove') },
}
