import { expect, inject, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { expectAccessible, openBrowser, openContext, takePictures } from './browser.ts'
import { openTestDashboard } from './test-dashboard.ts'
import { mailed, openShop } from './unsubscribe-fixture.ts'

// unsubscribe.test.ts has what the link does.
const dashboard = openBeforeAll(openTestDashboard)

test.skipIf(inject('chromium') === undefined)('the page is accessible, and fits a phone, in both themes', async () => {
  const { appId, link } = await openShop(dashboard)
  const browser = await openBrowser()
  const context = await openContext(browser, dashboard)
  const page = await context.newPage()
  await page.goto(link)
  await expectAccessible(page)
  await takePictures(page, 'unsubscribe')
  await page.getByRole('button', { name: 'Send no more mails' }).click()
  await page.getByRole('heading', { name: 'No more mails' }).waitFor()
  await expectAccessible(page)
  expect(await mailed(dashboard, appId)).toEqual(['ben@example.com'])
  await context.close()
  await browser.close()
})
