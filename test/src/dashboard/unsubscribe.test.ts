import { sendMailsTo } from '@sluice/accounts'
import { auditLogPage } from '@sluice/audit-log'
import { expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { openTestDashboard } from './test-dashboard.ts'
import { mailed, openShop } from './unsubscribe-fixture.ts'
import { openVisitor } from './visitor.ts'

// The link in the header of a mail ends an app's mails to one member, without a session (RFC 2369, RFC 8058).
const dashboard = openBeforeAll(openTestDashboard)

/** Sends what a mail program sends for one click. */
const click = (link: string, body: URLSearchParams | FormData) =>
  fetch(dashboard.url + link, { method: 'POST', body, redirect: 'manual' })
const oneClick = new URLSearchParams({ 'List-Unsubscribe': 'One-Click' })

function multipart(): FormData {
  const form = new FormData()
  form.set('List-Unsubscribe', 'One-Click')
  return form
}

test.each([
  ['urlencoded', () => oneClick],
  ['multipart', multipart],
])('one request of a mail program, as %s, ends the mails of this app to this member only', async (_, body) => {
  const [shop, other] = [await openShop(dashboard), await openShop(dashboard)]
  const answer = await click(shop.link, body())
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('gets no more mails')])
  expect(await mailed(dashboard, shop.appId)).toEqual(['ben@example.com'])
  expect(await mailed(dashboard, other.appId)).toEqual(['anna@example.com', 'ben@example.com'])
  expect((await click(shop.link, body())).status).toBe(200)
  const [entry] = (await auditLogPage(dashboard.db, { appId: shop.appId }, 1)).entries
  expect(entry).toMatchObject({ what: 'member.mails', target: 'anna@example.com', outcome: 'done' })
})

test('opening the link changes nothing; its button ends the mails', async () => {
  const { appId, link } = await openShop(dashboard)
  const visitor = openVisitor(dashboard)
  expect((await visitor.get(link)).text).toContain('anna@example.com gets mails')
  expect(await mailed(dashboard, appId)).toHaveLength(2)
  const ended = await visitor.post(link)
  expect(ended.status).toBe(200)
  expect(await mailed(dashboard, appId)).toEqual(['ben@example.com'])
  const again = await visitor.get(link)
  expect(again.text).toContain('does not get mails')
  for (const { text } of [ended, again]) expect(text).toContain(`<a href="/apps/${appId}/settings">Settings</a>`)
})

test('the link works again after the member has chosen mails again', async () => {
  const { appId, link } = await openShop(dashboard)
  await click(link, oneClick)
  await sendMailsTo(dashboard.db, appId, { among: ['anna@example.com'], chosen: ['anna@example.com'] })
  expect(await mailed(dashboard, appId)).toHaveLength(2)
  await click(link, oneClick)
  expect(await mailed(dashboard, appId)).toEqual(['ben@example.com'])
})

test('a link with another app or key is not found, and changes nothing', async () => {
  const [shop, other] = [await openShop(dashboard), await openShop(dashboard)]
  const key = shop.link.split('/').at(-1)
  const wrong = [`/unsubscribe/${other.appId}/${key}`, `/unsubscribe/${shop.appId}/${crypto.randomUUID()}`]
  for (const link of [...wrong, `/unsubscribe/${shop.appId}/x`, `/unsubscribe/x/${key}`]) {
    expect([link, (await click(link, oneClick)).status]).toEqual([link, 404])
    expect([link, (await openVisitor(dashboard).get(link)).status]).toEqual([link, 404])
  }
  expect([await mailed(dashboard, shop.appId), await mailed(dashboard, other.appId)].flat()).toHaveLength(4)
})
