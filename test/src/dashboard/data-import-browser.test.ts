import { runImport } from '@sluice/imports'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { claim, importFile, profilesOf } from '../imports/import-fixture.ts'
import { expectAccessible, openBrowser, openWindow, takePictures } from './browser.ts'
import { drop, people, users } from './dropped-files.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { openTestDashboard, type TestDashboard } from './test-dashboard.ts'

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

  test('a dropped file is previewed before it is sent: first rows, column types, and what is registered', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    await importFile(fixture, appId, 'user_id,age\nuser-1,20\n')
    const { page, context, problems } = await openWindow(browser, dashboard, email)
    await page.goto(`/apps/${appId}/data-import`)
    await takePictures(page, 'data-import')
    await expectAccessible(page)
    await drop(page, 'people.csv', Buffer.from(people))
    await page.getByRole('heading', { name: 'people.csv' }).waitFor()
    const columns = await page.getByRole('columnheader').allInnerTexts()
    expect(columns.map((text) => text.replaceAll(/\s+/g, ' '))).toEqual([
      ...[
        'user_id identifies the user',
        'age int registered',
        expect.stringMatching(/^joined\b/),
        expect.stringMatching(/^note\b/),
      ],
    ])
    const selected = (name: string) => page.getByRole('combobox', { name: `Type of ${name}` }).inputValue()
    expect([await selected('joined'), await selected('note')]).toEqual(['datetime', 'string'])
    await page.getByText('age: 1 of the first 50 rows has a value that is not of the registered type int').waitFor()
    expect(await page.getByRole('cell', { name: 'Hello, "3"' }).count()).toBe(1)
    await takePictures(page, 'data-import-preview')
    await expectAccessible(page)

    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
    await page.getByRole('heading', { name: 'people.csv' }).waitFor()
    const importId = page.url().split('/').at(-1) ?? ''
    await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    await page.getByText('Completed').waitFor()
    expect((await profilesOf(fixture, appId))['user-3']).toEqual({
      ...{ age: 23, joined: '2026-03-04 00:00:00.000', note: 'Hello, "3"' },
    })
    expect(problems).toEqual([])
    await context.close()
  })

  test('the preview warns of values that lose their spelling, and a type that is chosen there is imported', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    await importFile(fixture, appId, 'user_id,gone\nuser-1,20\n')
    const { page, context, problems } = await openWindow(browser, dashboard, email)
    await page.goto(`/apps/${appId}/data-import`)
    await page.getByLabel('Text of cells that remove a value').fill('#N/A')
    await drop(page, 'zips.csv', Buffer.from('user_id,zip,n,gone\nuser-1,007,+1,#N/A\nuser-2,#N/A,2,\n'))
    const warning = page.getByText('zip: 1 of 1 values begin with 0, which int does not keep. For example: 007.')
    await warning.waitFor()
    await page.getByText('n: 1 of 2 values begin with +, which int does not keep.').waitFor()
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
    await page.getByText('n: 1 of 2 values begin with +').waitFor()
    expect(await profilesOf(fixture, appId)).toMatchObject({ 'user-1': { zip: '007', n: 1 }, 'user-2': { n: 2 } })
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
    await page.getByText('The file has no rows.').waitFor()
    expect(problems).toEqual([])
    await context.close()
  })
})
