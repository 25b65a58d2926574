import { listEndpoints } from '@sluice/webhooks'
import { expect, inject, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { expectAccessible, openBrowser, openWindow, takePictures } from './browser.ts'
import { deliverAll, openShop, openWebhooksDashboard, record } from './webhooks-dashboard.ts'

// webhooks.test.ts has what the page says and does.
const dashboard = openBeforeAll(openWebhooksDashboard)

test.skipIf(inject('chromium') === undefined)('the page is accessible, and fits a phone, in both themes', async () => {
  const { appId, page, member } = await openShop(dashboard, 'axe@example.com')
  await member.post(page, { url: `http://127.0.0.1:1/${'long-path/'.repeat(20)}`, event: 'import.completed' })
  for (const id of ['1', '2']) await record(dashboard, appId, id)
  await deliverAll(dashboard, appId)
  const [endpoint] = await listEndpoints(dashboard.db, appId)
  const browser = await openBrowser()
  const { page: window, context, problems } = await openWindow(browser, dashboard, 'axe@example.com')
  const addresses = { webhooks: page, 'webhooks-removal': `${page}/remove?endpoint=${endpoint?.endpointId}` }
  for (const [name, address] of Object.entries(addresses)) {
    await window.goto(address)
    await expectAccessible(window)
    await takePictures(window, name)
  }
  expect(problems).toEqual([])
  await context.close()
  await browser.close()
})
