import { gzipSync } from 'node:zlib'
import { runImport } from '@sluice/imports'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { claim, importFile, profilesOf } from '../imports/import-fixture.ts'
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

  test('the preview warns of values that lose their spelling, and a type that is chosen there is imported', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    await importFile(fixture, appId, 'user_id,gone\nuser-1,20\n')
    const { page, context, problems } = await openWindow(browser, dashboard, email)
    await page.goto(`/apps/${appId}/data-import`)
    await page.getByLabel('Text of cells that remove a value').fill('#N/A')
    await drop(page, 'zips.csv', Buffer.from('user_id,zip,n,gone\nuser-1,007,05,#N/A\nuser-2,#N/A,2,\n'))
    const warning = page.getByText('zip: 1 of 1 values begin with 0, which int does not keep. For example: 007.')
    await warning.waitFor()
    await page.getByText('n: 1 of 2 values begin with 0, which int does not keep.').waitFor()
    await takePictures(page, 'data-import-warnings')
    await expectAccessible(page)
    const type = page.getByRole('combobox', { name: 'Type of zip' })
    await type.selectOption('datetime')
    await page.getByText('zip: 1 of the first 2 rows has a value that is not of the chosen type datetime').waitFor()
    await type.selectOption('string')
    await warning.waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
    const importId = page.url().split('/').at(-1) ?? ''
    const { profile_types: declared } = await dashboard.db
      .selectFrom('imports')
      .select('profile_types')
      .where('import_id', '=', importId)
      .executeTakeFirstOrThrow()
    expect(declared).toEqual({ zip: 'string' })
    await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    await page.getByText('n: 1 of 2 values begin with 0').waitFor()
    expect(await profilesOf(fixture, appId)).toMatchObject({ 'user-1': { zip: '007', n: 5 }, 'user-2': { n: 2 } })
    expect((await profilesOf(fixture, appId))['user-1']).not.toHaveProperty('gone')
    expect(problems).toEqual([])
    await context.close()
  })

  test('mistakes are shown before anything is sent, and HTML in a file or its name is shown as text', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context, problems } = await openWindow(browser, dashboard, email)
    await page.goto(`/apps/${appId}/data-import`)
    const evil = '<img src=x onerror=alert(1)>'
    await drop(page, `${evil}.csv`, Buffer.from(`id,${evil},age,age,$name,\n${evil},"${evil}",1,2,3,4\n`))
    await page.getByRole('heading', { name: `${evil}.csv` }).waitFor()
    const notices = await page.locator('.notice.bad li').allInnerTexts()
    expect(notices).toEqual([
      'empty columns',
      'duplicate columns age',
      'user_id column is required',
      'standard user profile cannot be updated: $name',
    ])
    expect(await page.locator('main img').count()).toBe(0)
    await takePictures(page, 'data-import-mistakes')
    await expectAccessible(page)
    await drop(page, 'broken.gz', Buffer.from([0x1f, 0x8b, 1, 2, 3]))
    await page.getByText('it is damaged').waitFor()
    await drop(page, 'empty.csv', Buffer.from(''))
    await page.getByText('empty file').waitFor()
    await drop(page, 'quote.csv', Buffer.from('user_id,"plan" name\nu1,gold\n'))
    await page.getByText('quote is not closed in header').waitFor()
    expect(problems).toEqual([])
    await context.close()
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
