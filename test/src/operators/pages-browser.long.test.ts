import { pauseImports } from '@sluice/imports'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { expectAccessible, openBrowser, openWindow, takePictures } from '../dashboard/browser.ts'
import { openSampleApp } from '../dashboard/sample-app.ts'
import { openOperator, openTestDashboard, type TestDashboard } from '../dashboard/test-dashboard.ts'
import { signIn } from '../dashboard/visitor.ts'
import { queueFile } from '../imports/import-fixture.ts'

// pages.test.ts has what the pages say.
describe.skipIf(inject('chromium') === undefined)('in a browser', () => {
  let dashboard: TestDashboard
  let appId: number
  let browser: Browser
  beforeAll(async () => {
    dashboard = await openTestDashboard()
    await openOperator(dashboard)
    ;({ appId } = await openSampleApp(dashboard, 'Corner shop', 'anna@example.com'))
    await fillAuditLogs()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser.close()
    await dashboard.close()
  })

  test('every page of an operator is accessible, fits a phone, and violates no policy', async () => {
    await pauseImports(dashboard.db, appId)
    for (let file = 0; file < 3; file++) await queueFile({ ...dashboard, database: dashboard }, appId, 'user_id\n')
    await importFailed()
    const { page, context, problems } = await openWindow(browser, dashboard, 'operator@example.com')
    for (const [name, [address, title]] of Object.entries(pages())) {
      await page.goto(address)
      await expect.poll(() => page.getByRole('heading', { level: 1 }).textContent()).toBe(title)
      await expectAccessible(page)
      await takePictures(page, name)
    }
    expect(problems).toEqual([])
    await context.close()
  })

  test('the list of imports needs no sideways scroll, neither on a phone nor on a laptop', async () => {
    await importFailed()
    const { page, context } = await openWindow(browser, dashboard, 'operator@example.com')
    for (const address of ['/imports', `/apps/${appId}/imports`]) {
      for (const width of [390, 1280]) {
        await page.setViewportSize({ width, height: 844 })
        await page.goto(address)
        await page.getByText('zip is registered as int').first().waitFor()
        const list = "document.querySelector('[aria-label=Imports]')"
        const hidden = await page.evaluate(`${list}.scrollWidth - ${list}.clientWidth`)
        expect([address, width, hidden]).toEqual([address, width, 0])
      }
    }
    await context.close()
  })

  /** Stores an import whose names and numbers are long. */
  async function importFailed(): Promise<void> {
    await dashboard.db
      .insertInto('imports')
      .values({
        ...{ app_id: appId, source: 'dashboard', state: 'failed', object_key: 'none', content_type: 'text/csv' },
        ...{ file_name: 'customers_of_the_spring_campaign_2026-03-01.csv', error: 'zip is registered as int' },
        ...{ requested_by: 'marketing.department@example.com', rows_total: 12_345_678, rows_failed: 1_234_567 },
        ...{ dry_run: true, started_at: new Date(Date.now() - 5_000_000), finished_at: new Date() },
      })
      .execute()
  }

  /** Lets an operator pause and resume the app, and all apps, so that both audit logs have entries. */
  async function fillAuditLogs(): Promise<void> {
    const operator = await signIn(dashboard, 'operator@example.com')
    for (const page of [`/apps/${appId}/operation`, '/queues']) {
      for (const change of ['pause', 'resume']) {
        expect((await operator.post(`${page}/${change}`, {}, page)).status).toBe(303)
      }
    }
  }

  const pages = (): Record<string, [address: string, title: string]> => ({
    'operator-app': [`/apps/${appId}/operation`, 'Operation'],
    'operator-queues': ['/queues', 'Queues'],
    'operator-imports': ['/imports', 'All imports'],
    'operator-imports-none': ['/imports?state=failed&text=nothing', 'All imports'],
    'operator-imports-cancel': ['/imports/cancel', 'Cancel 3 imports?'],
    'operator-audit-log': ['/audit-log', 'All audit logs'],
    'operator-pause': ['/queues/pause', 'Pause the imports of all apps?'],
    'operator-help': ['/help', 'Help'],
    'app-audit-log': [`/apps/${appId}/audit-log`, 'Audit log'],
  })
})
