import { listMembers, sendMailsTo } from '@sluice/accounts'
import { auditLogPage } from '@sluice/audit-log'
import { afterAll, beforeAll, expect, inject, test } from 'vitest'
import { expectAccessible, openBrowser, openContext, takePictures } from './browser.ts'
import { openApp, openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { openVisitor } from './visitor.ts'

// The link in the header of a mail ends an app's mails to one member, without a session (RFC 2369, RFC 8058).
let dashboard: TestDashboard
beforeAll(async () => {
  dashboard = await openTestDashboard()
})
afterAll(() => dashboard.close())

/** Creates an app with two members. Returns the address of the first member's link. */
async function openShop() {
  const { appId } = await openApp(dashboard, 'Shop', 'anna@example.com')
  await dashboard.db.insertInto('members').values({ app_id: appId, email: 'ben@example.com' }).execute()
  const { unsubscribe_key: key } = await dashboard.db
    .selectFrom('members')
    .select('unsubscribe_key')
    .where('app_id', '=', appId)
    .where('email', '=', 'anna@example.com')
    .executeTakeFirstOrThrow()
  return { appId, link: `/unsubscribe/${appId}/${key}` }
}

const mailed = async (appId: number) =>
  (await listMembers(dashboard.db, appId)).filter(({ getsMails }) => getsMails).map(({ email }) => email)

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
  const [shop, other] = [await openShop(), await openShop()]
  const answer = await click(shop.link, body())
  expect([answer.status, await answer.text()]).toEqual([200, expect.stringContaining('gets no more mails')])
  expect(await mailed(shop.appId)).toEqual(['ben@example.com'])
  expect(await mailed(other.appId)).toEqual(['anna@example.com', 'ben@example.com'])
  expect((await click(shop.link, body())).status).toBe(200)
  const [entry] = (await auditLogPage(dashboard.db, { appId: shop.appId }, 1)).entries
  expect(entry).toMatchObject({ what: 'member.mails', target: 'anna@example.com', outcome: 'done' })
})

test('opening the link changes nothing; its button ends the mails', async () => {
  const { appId, link } = await openShop()
  const visitor = openVisitor(dashboard)
  expect((await visitor.get(link)).text).toContain('anna@example.com gets mails')
  expect(await mailed(appId)).toHaveLength(2)
  expect((await visitor.post(link)).status).toBe(200)
  expect(await mailed(appId)).toEqual(['ben@example.com'])
  expect((await visitor.get(link)).text).toContain('does not get mails')
})

test('the link works again after the member has chosen mails again', async () => {
  const { appId, link } = await openShop()
  await click(link, oneClick)
  await sendMailsTo(dashboard.db, appId, { among: ['anna@example.com'], chosen: ['anna@example.com'] })
  expect(await mailed(appId)).toHaveLength(2)
  await click(link, oneClick)
  expect(await mailed(appId)).toEqual(['ben@example.com'])
})

test('a link with another app or key is not found, and changes nothing', async () => {
  const [shop, other] = [await openShop(), await openShop()]
  const key = shop.link.split('/').at(-1)
  const wrong = [`/unsubscribe/${other.appId}/${key}`, `/unsubscribe/${shop.appId}/${crypto.randomUUID()}`]
  for (const link of [...wrong, `/unsubscribe/${shop.appId}/x`, `/unsubscribe/x/${key}`]) {
    expect([link, (await click(link, oneClick)).status]).toEqual([link, 404])
    expect([link, (await openVisitor(dashboard).get(link)).status]).toEqual([link, 404])
  }
  expect([await mailed(shop.appId), await mailed(other.appId)].flat()).toHaveLength(4)
})

test.skipIf(inject('chromium') === undefined)('the page is accessible, and fits a phone, in both themes', async () => {
  const { appId, link } = await openShop()
  const browser = await openBrowser()
  const context = await openContext(browser, dashboard)
  const page = await context.newPage()
  await page.goto(link)
  await expectAccessible(page)
  await takePictures(page, 'unsubscribe')
  await page.getByRole('button', { name: 'Send no more mails' }).click()
  await page.getByRole('heading', { name: 'No more mails' }).waitFor()
  await expectAccessible(page)
  expect(await mailed(appId)).toEqual(['ben@example.com'])
  await context.close()
  await browser.close()
})
