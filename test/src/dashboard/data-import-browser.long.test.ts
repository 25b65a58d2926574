import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { runImport } from '@sluice/imports'
import { changeKeys } from '@sluice/profiles'
import { expect, test } from 'vitest'
import { openScratch } from '../environment/scratch.ts'
import { claim, importFile, profilesOf, resultOf } from '../imports/import-fixture.ts'
import { expectAccessible, takePictures } from './browser.ts'
import { describeInBrowser } from './describe-in-browser.ts'
import { drop, people, users } from './dropped-files.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'

// data-import-browser.test.ts has the main path.
describeInBrowser((dashboard, openWindow) => {
  test('the preview warns of values that lose their spelling, and a type that is chosen there is imported', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    await importFile(fixture, appId, 'user_id,gone\nuser-1,20\n')
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    await page.getByText('More options').click()
    await page.getByLabel('Text of cells that remove a value').fill('#N/A')
    await drop(page, 'zips.csv', Buffer.from('user_id,zip,n,gone\nuser-1,007,05,#N/A\nuser-2,#N/A,2,\n'))
    const warning = page.getByText('1 of 1 values begin with 0, which int does not keep. For example: 007.')
    await warning.waitFor()
    await page.getByText('1 of 2 values begin with 0, which int does not keep.').waitFor()
    await page.getByRole('button', { name: '2 warnings' }).click()
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Type of zip')
    await takePictures(page, 'data-import-warnings')
    await expectAccessible(page)
    const type = page.getByRole('combobox', { name: 'Type of zip' })
    await type.selectOption('datetime')
    await page.getByText('1 of the first 2 rows has a value that is not of the chosen type datetime').waitFor()
    await type.selectOption('string')
    await warning.waitFor({ state: 'detached' })
    // The type of `n` may be wrong and would become final, so the page asks once.
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('dialog').getByText('n: 1 of 2 values begin with 0').waitFor()
    await takePictures(page, 'data-import-question')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Back to the columns' }).click()
    await expect.poll(() => page.getByRole('button', { name: 'Import', exact: true }).isEnabled()).toBe(true)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('button', { name: 'Import with these types' }).click()
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

  test('the row of a column that is ignored says why, and a warning about converted values says that they are', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    await importFile(fixtureOf(dashboard), appId, 'user_id,plan,level\nuser-1,gold,2\n')
    await changeKeys(dashboard.db, appId, { keys: ['plan'], enabled: false }, 500)
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    const rows = users
      .slice(0, 10)
      .map((user, row) => `${user},gold,${row === 0 ? '-' : `31.12.199${row}`},1,${'long text '.repeat(9)}\n`)
    await drop(
      page,
      'disabled.csv',
      Buffer.from(`user_id,plan,since,level,A name of a column as other systems export it\n${rows.join('')}`),
    )
    const imported = page.getByLabel('Import plan')
    await page.getByText('not imported: the key is disabled').waitFor()
    expect([await imported.isChecked(), await imported.isDisabled()]).toEqual([false, true])
    expect(await page.getByLabel('Values of plan').isDisabled()).toBe(true)
    await page.getByText('10 rows, 4 columns, 2 new keys, final').waitFor()
    await page.getByLabel('Values of since').selectOption('day-first')
    await page.getByText('After the conversion, 9 of 10 values are ISO 8601 date-times').waitFor()
    expect(await page.locator('.columns .scroll').evaluate((table) => table.scrollWidth - table.clientWidth)).toBe(0)
    await takePictures(page, 'data-import-ignored')
    await expectAccessible(page)
    await page.getByLabel('Key of plan').fill('plan 2')
    expect([await imported.isChecked(), await imported.isDisabled()]).toEqual([true, false])
    expect(problems).toEqual([])
    await context.close()
  })

  test('a chosen form stays when a value does not have it, and the page says that the type is a string because of it', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    await drop(
      page,
      'since.csv',
      Buffer.from('user_id,since\nuser-1,31.12.1999\nuser-2,1.2.2003\nuser-3,soon\nuser-4,\n'),
    )
    const form = page.getByLabel('Values of since')
    const type = page.getByRole('combobox', { name: 'Type of since' })
    await form.selectOption('day-first')
    const why =
      'After the conversion, 1 of 3 values is not of the type datetime, so the key becomes a string. If you choose datetime, such rows are not applied. For example: soon.'
    await page.getByText(why).waitFor()
    expect([await form.inputValue(), await type.inputValue()]).toEqual(['day-first', 'string'])
    await takePictures(page, 'data-import-misfit')
    await expectAccessible(page)
    await page.getByRole('button', { name: '1 warning' }).click()
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Type of since')
    // The type of the key would become final, so the page asks.
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('dialog').getByText(`since: ${why}`).waitFor()
    await page.getByRole('button', { name: 'Back to the columns' }).click()
    await type.selectOption('datetime')
    await page.getByText('1 of the first 4 rows has a value that is not of the chosen type datetime.').waitFor()
    expect(await page.getByText(why).count()).toBe(0)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
    const importId = page.url().split('/').at(-1) ?? ''
    await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    const { view } = await resultOf(fixture, appId, importId)
    expect(view).toMatchObject({ types: { since: 'datetime' }, rows_applied: 3, rows_failed: 1 })
    expect(problems).toEqual([])
    await context.close()
  })

  test('mistakes are shown before anything is sent, and HTML in a file or its name is shown as text', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    const evil = '<img src=x onerror=alert(1)>'
    await drop(page, `${evil}.csv`, Buffer.from(`id,${evil},age,age,$name,\n${evil},"${evil}",1,2,3,4\n`))
    await page.getByRole('heading', { name: `${evil}.csv` }).waitFor()
    const reasons = await page.locator('[data-refusals] strong').allInnerTexts()
    expect(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true)
    expect(reasons).toEqual([
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
    expect(await page.getByRole('button', { name: 'Import', exact: true }).isDisabled()).toBe(true)
    await drop(page, 'empty.csv', Buffer.from(''))
    await page.getByText('empty file').waitFor()
    await drop(page, 'quote.csv', Buffer.from('user_id,"plan" name\nu1,gold\n'))
    await page.getByText('quote is not closed in header').waitFor()
    expect(problems).toEqual([])
    await context.close()
  })

  test('a type can be chosen for every new column, however many there are', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    const columns = Array.from({ length: 100 }, (_, index) => `k${index}`)
    await drop(page, 'wide.csv', Buffer.from(`user_id,${columns}\nuser-1,${columns.map(() => '1')}\n`))
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
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    await page
      .getByLabel(/A CSV file/)
      .setInputFiles({ name: 'p.csv.gz', mimeType: 'application/gzip', buffer: gzipSync(people) })
    await page.getByText('Types as of the first 50 rows.').waitFor()
    // Nothing becomes final in a dry run, so it asks nothing.
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
    await page.getByText('Dry run').first().waitFor()
    const fixture = fixtureOf(dashboard)
    const importId = page.url().split('/').at(-1) ?? ''
    await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    await page.getByText('The file was only checked: nothing was applied.').waitFor()
    expect((await profilesOf(fixture, appId))['user-3']).toEqual({})

    await takePictures(page, 'import-dry-run')
    await expectAccessible(page)
    await page.getByRole('link', { name: 'Import this file now…' }).click()
    await page.getByText('3 keys will be registered.').waitFor()
    await takePictures(page, 'import-dry-run-question')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Import this file now' }).click()
    await page.waitForURL((url) => /\/imports\/[0-9a-f-]{36}$/.test(url.pathname) && !url.href.includes(importId))
    const nextId = page.url().split('/').at(-1) ?? ''
    await runImport(fixture.context, await claim(fixture, appId, nextId), new AbortController().signal)
    await page.getByText('Completed').waitFor()
    expect((await profilesOf(fixture, appId))['user-3']).toMatchObject({ age: '23' })
    expect(problems).toEqual([])
    await context.close()
  })

  test('the progress of an upload is shown, and a button stops the upload', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    const network = await context.newCDPSession(page)
    const slow = { offline: false, latency: 0, downloadThroughput: 2 ** 20, uploadThroughput: 2 ** 18 }
    await network.send('Network.emulateNetworkConditions', slow)
    await drop(page, 'slow.csv', Buffer.concat([Buffer.from(people), Buffer.alloc(6 * 2 ** 20, 'user-1,2,,\n')]))
    await page.evaluate(`{
      window.announced = []
      const part = document.querySelector('[data-announced]')
      new MutationObserver(() => announced.push(part.textContent)).observe(part, { childList: true })
    }`)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByRole('button', { name: 'Import with these types' }).click()
    await page.getByText(/Uploading, [\d.]+ MB a second/).waitFor()
    await page.getByText(/^[3-9]\d %$/).waitFor()
    const announced = await page.evaluate<string[]>('announced')
    expect(announced.length).toBe(new Set(announced).size)
    for (const text of announced) expect(text).toMatch(/^Uploading, (?:0|25|50|75) %$/)
    const question = page.waitForEvent('dialog')
    const leaving = page.evaluate('location.reload()')
    const dialog = await question
    expect(dialog.type()).toBe('beforeunload')
    await dialog.dismiss()
    await leaving
    await takePictures(page, 'data-import-sending')
    await page.getByRole('button', { name: 'Stop' }).click()
    await page.getByRole('button', { name: 'Import', exact: true }).isEnabled()
    const left = () => dashboard.db.selectFrom('imports').select('state').where('app_id', '=', appId).execute()
    await expect.poll(left, { timeout: 20_000 }).toEqual([])
    await context.close()
  })

  test('the choices for a file survive a reload, and can be started over', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const { page, context, problems } = await openWindow(email)
    const folder = await openScratch('sluice-choices-')
    const path = join(folder.path, 'people.csv')
    await writeFile(path, 'ID;zip;Note\nuser-1;007;x\n')
    const open = async () => {
      await page.goto(`/apps/${appId}/data-import`)
      await page.getByLabel(/A CSV file/).setInputFiles(path)
      await page.getByRole('region', { name: 'Columns of' }).waitFor()
    }
    await open()
    await page.getByLabel('The user ID is in the column').selectOption({ label: 'ID' })
    await page.getByLabel('Type of zip').selectOption('string')
    await page.getByLabel('Import Note').uncheck()
    await page.getByText('1 row, 2 columns, 1 new key, final').waitFor()
    await open()
    await page.getByText('Your earlier choices for this file are used.').waitFor()
    await page.getByText('1 row, 2 columns, 1 new key, final').waitFor()
    expect(await page.getByLabel('Key of ID').inputValue()).toBe('user_id')
    expect(await page.getByLabel('Type of zip').inputValue()).toBe('string')
    await page.getByRole('button', { name: 'Start over' }).click()
    await page.getByText('user_id column is required').waitFor()
    expect(await page.getByLabel('Type of zip').inputValue()).toBe('int')
    await page.getByRole('button', { name: 'Use user_id' }).click()
    await page.getByText('1 row, 3 columns, 2 new keys, final').waitFor()
    expect(problems).toEqual([])
    await folder[Symbol.asyncDispose]()
    await context.close()
  })
})
