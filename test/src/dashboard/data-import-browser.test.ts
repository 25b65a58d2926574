import { sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { expect, test } from 'vitest'
import { claim, importFile, profilesOf } from '../imports/import-fixture.ts'
import { expectAccessible, takePictures } from './browser.ts'
import { describeInBrowser } from './describe-in-browser.ts'
import { drop, people, users } from './dropped-files.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'

// The main path. data-import-browser.long.test.ts has warnings, mistakes and other files.
describeInBrowser((dashboard, openWindow) => {
  // second-day.md §1, Preview.
  test('a dropped file is previewed before it is sent: first rows, column types, and what is registered', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    await importFile(fixture, appId, 'user_id,age\nuser-1,20\n')
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    await takePictures(page, 'data-import')
    await expectAccessible(page)
    await drop(page, 'people.csv', Buffer.from(people))
    await page.getByRole('heading', { name: 'people.csv' }).waitFor()
    const rowOf = (name: string) =>
      page.getByRole('row').filter({ has: page.getByLabel(`Import ${name}`, { exact: true }) })
    const texts = async (name: string) => (await rowOf(name).innerText()).replaceAll(/\s+/g, ' ')
    expect(await texts('user_id')).toContain('user-0 user-1 user-2')
    expect(await texts('user_id')).toContain('identifies the user')
    expect(await texts('age')).toContain('int, registered')
    const selected = (name: string) => page.getByRole('combobox', { name: `Type of ${name}` }).inputValue()
    expect([await selected('joined'), await selected('note')]).toEqual(['datetime', 'string'])
    await rowOf('age').getByText('1 of the first 50 rows has a value that is not of the registered type int').waitFor()
    await rowOf('note').getByText('Hello, "2"').waitFor()
    await page.getByText('50 rows, 4 columns, 2 new keys, final · 1 warning').waitFor()
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

  test('a person whose session ends during the upload is asked to sign in, and is not told that nothing was imported', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    await drop(page, 'people.csv', Buffer.from(people))
    await page.getByRole('heading', { name: 'people.csv' }).waitFor()
    await page.route('**/data-import', async (route) => {
      const response = await route.fetch({ maxRedirects: 0 })
      await dashboard.db.deleteFrom('sessions').execute()
      await route.fulfill({ response })
    })
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('button', { name: 'Import with these types' }).click()
    await page.waitForURL(/\/sign-in\?return=/)
    expect(await page.getByText('Nothing was imported').count()).toBe(0)
    const imports = await dashboard.db.selectFrom('imports').select('state').where('app_id', '=', appId).execute()
    expect(imports).toEqual([{ state: 'queued' }])
    await context.close()
  })

  test('the reason for a refusal is shown, and a lost answer sends the person to the list of imports', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    await drop(page, 'people.csv', Buffer.from(people))
    await page.getByRole('heading', { name: 'people.csv' }).waitFor()
    const send = () => page.getByRole('button', { name: 'Import', exact: true }).click()
    await sql`
      insert into imports (app_id, source, state, content_type, object_key)
      select ${appId}, 'dashboard', 'queued', 'text/csv', 'none' from generate_series(1, 1000)
    `.execute(dashboard.db)
    await send()
    await page.getByRole('button', { name: 'Import with these types' }).click()
    await page.getByText('1000 imports of this app wait already.').waitFor()
    await sql`update imports set state = 'held' where import_id = (select import_id from imports where app_id = ${appId} limit 1)`.execute(
      dashboard.db,
    )
    await send()
    await page.getByRole('link', { name: 'See the held import' }).waitFor()
    await dashboard.db.deleteFrom('imports').where('object_key', '=', 'none').execute()
    await page.route('**/data-import', async (route) => {
      await route.fetch({ maxRedirects: 0 })
      await route.fulfill({ status: 502, body: 'Bad Gateway' })
    })
    // The question about types is asked once.
    await send()
    await page.getByText('look at the list of imports before you send it again').waitFor()
    await context.close()
  })
})
