import { gzipSync } from 'node:zlib'
import { runImport } from '@sluice/imports'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { claim, profilesOf } from '../imports/import-fixture.ts'
import { expectAccessible, openBrowser, openWindow, takePictures } from './browser.ts'
import { drop, people, users } from './dropped-files.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { openTestDashboard, type TestDashboard } from './test-dashboard.ts'

// data-import-browser.test.ts has the main path.
describe.skipIf(inject('chromium') === undefined)('in a browser', () => {
  let dashboard: TestDashboard
  let browser: Browser
  beforeAll(async () => {
    dashboard = await openTestDashboard()
    browser = await openBrowser()
  })
  afterAll(async () => {
    await browser?.close()
    await dashboard.close()
  })

  test('a type can be chosen for every new column, however many there are', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context, problems } = await openWindow(browser, dashboard, email)
    await page.goto(`/apps/${appId}/data-import`)
    const columns = Array.from({ length: 100 }, (_, index) => `k${index}`)
    await drop(page, 'wide.csv', Buffer.from(`user_id,${columns}\nuser-1,${columns.map(() => '1')}\n`))
    await page.getByText('Types of 71 more new columns').click()
    await page.getByRole('combobox', { name: 'Type of k99', exact: true }).selectOption('decimal')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
    const { profile_types: declared } = await dashboard.db
      .selectFrom('imports')
      .select('profile_types')
      .where('app_id', '=', appId)
      .executeTakeFirstOrThrow()
    expect(declared).toEqual({ k99: 'decimal' })
    expect(problems).toEqual([])
    await context.close()
  })

  test('a compressed file is previewed as well, and its dry run applies nothing', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context, problems } = await openWindow(browser, dashboard, email)
    await page.goto(`/apps/${appId}/data-import`)
    await page
      .getByLabel(/A CSV file/)
      .setInputFiles({ name: 'p.csv.gz', mimeType: 'application/gzip', buffer: gzipSync(people) })
    await page.getByText('Types as of the first 50 rows.').waitFor()
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
    await page.getByText('Dry run').waitFor()
    const fixture = fixtureOf(dashboard)
    const importId = page.url().split('/').at(-1) ?? ''
    await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    await page.getByText('The file was only checked: nothing was applied.').waitFor()
    expect((await profilesOf(fixture, appId))['user-3']).toEqual({})
    expect(problems).toEqual([])
    await context.close()
  })

  test('the progress of an upload is shown, and a button stops the upload', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context } = await openWindow(browser, dashboard, email)
    await page.goto(`/apps/${appId}/data-import`)
    const network = await context.newCDPSession(page)
    const slow = { offline: false, latency: 0, downloadThroughput: 2 ** 20, uploadThroughput: 2 ** 18 }
    await network.send('Network.emulateNetworkConditions', slow)
    await drop(page, 'slow.csv', Buffer.concat([Buffer.from(people), Buffer.alloc(2 ** 20, 'user-1,2,,\n')]))
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText(/Uploading, [\d.]+ MB a second/).waitFor()
    await page.getByText(/^[1-9]\d? %$/).waitFor()
    await takePictures(page, 'data-import-sending')
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Import', exact: true }).isEnabled()
    const left = () => dashboard.db.selectFrom('imports').select('state').where('app_id', '=', appId).execute()
    await expect.poll(left, { timeout: 20_000 }).toEqual([])
    await context.close()
  })
})
