import { addMember, authenticator } from '@sluice/accounts'
import { enqueueMails } from '@sluice/mail'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openApp, openTestDashboard } from './test-dashboard.ts'
import { formTokenIn, signIn, type Visitor } from './visitor.ts'

const dashboard = openBeforeAll(openTestDashboard)

async function openShop(email: string): Promise<{ appId: number; apiToken: string; member: Visitor }> {
  const app = await openApp(dashboard, 'Shop', email)
  return { ...app, member: await signIn(dashboard, email) }
}

// service.md, Authentication 1.
test('a new API token is shown once, and the old token stops working', async () => {
  const { appId, apiToken, member } = await openShop('token@example.com')
  const path = `/apps/${appId}/credentials/api-token`
  expect((await member.get(`/apps/${appId}/credentials`)).text).toContain(`…${apiToken.slice(-4)}`)
  expect((await member.get(path)).text).toContain('stops working at once')
  const shown = await member.post(path, { replaces: apiToken.slice(-4) })
  const [token = ''] = new RegExp(`slc_${appId}_[\\w-]{43}`).exec(shown.text) ?? []
  const authenticate = authenticator(dashboard.db)
  expect([await authenticate(apiToken), (await authenticate(token))?.appId]).toEqual([undefined, appId])
  expect((await member.get(`/apps/${appId}/credentials`)).text).not.toContain(token)
})

test('a confirmation that is sent again, as by a reload, does not replace the token again', async () => {
  const { appId, apiToken, member } = await openShop('again@example.com')
  const path = `/apps/${appId}/credentials/api-token`
  const fields = { replaces: apiToken.slice(-4) }
  const [, again] = [await member.post(path, fields), await member.post(path, fields)]
  expect([again.status, again.headers.get('location')]).toEqual([303, `/apps/${appId}/credentials`])
})

test('members can be removed, and their mails can be switched on and off', async () => {
  const { appId, member } = await openShop('anna.settings@example.com')
  const settings = `/apps/${appId}/settings`
  await addMember(dashboard.db, appId, 'bert@example.com')
  expect((await member.post(`${settings}/members`, { email: 'BERT@example.com' }, settings)).status).toBe(409)
  expect((await member.post(`${settings}/members`, { email: 'nobody' }, settings)).status).toBe(400)

  // The form sends one ticked box of two.
  const form = 'shown=anna.settings%40example.com&shown=bert%40example.com&email=bert%40example.com'
  expect((await postQuery(member, `${settings}/mails`, form, settings)).status).toBe(303)
  const content = { subject: 'Test', text: 'Test', html: 'Test' }
  await enqueueMails(dashboard.db, appId, 'test', content)
  const sent = await dashboard.db.selectFrom('mails').select('recipient').where('app_id', '=', appId).execute()
  expect(sent).toEqual([{ recipient: 'bert@example.com' }])

  const removal = `${settings}/members/remove?member=bert%40example.com`
  expect((await member.get(removal)).text).toContain('gets no more mails')
  expect((await member.post(`${settings}/members/remove`, { member: 'bert@example.com' }, removal)).status).toBe(303)
  expect((await member.get(settings)).text).not.toContain('bert@example.com')
})

test('the last member cannot be removed', async () => {
  const { appId, member } = await openShop('last@example.com')
  const settings = `/apps/${appId}/settings`
  const answer = await member.post(`${settings}/members/remove`, { member: 'last@example.com' }, settings)
  expect(answer.status).toBe(409)
  expect((await member.get(settings)).status).toBe(200)
})

/** Builds a form that may contain a field several times. */
async function postQuery(visitor: Visitor, path: string, fields: string, from: string) {
  const page = await visitor.get(from)
  const token = formTokenIn(page.text)
  return await visitor.postWithoutToken(path, new URLSearchParams(`${fields}&form_token=${token}`))
}
