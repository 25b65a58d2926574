import { runImport } from '@sluice/imports'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { claim, importFile, profilesOf, resultOf } from '../imports/import-fixture.ts'
import { expectAccessible, takePictures } from './browser.ts'
import { describeInBrowser } from './describe-in-browser.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import * as files from './spreadsheet-files.ts'

// Files as people have them: the data import page converts them in the browser.
describeInBrowser((dashboard, openWindow) => {
  /** Opens the page for an app with three users and the registered keys `email` and `size`. */
  async function openPage() {
    const { appId, email } = await openAppWith(dashboard, ['user-1', 'user-2', 'user-3'])
    const fixture = fixtureOf(dashboard)
    await importFile(fixture, appId, 'user_id,email,size\nuser-3,old,0.5\n')
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/data-import`)
    return { appId, fixture, page, context, problems }
  }

  const choose = (page: Page, name: string, buffer: Buffer) =>
    page.getByLabel(/A CSV file/).setInputFiles({ name, mimeType: 'text/csv', buffer })
  const importButton = (page: Page) => page.getByRole('button', { name: 'Import', exact: true })
  const inColumns = (page: Page) => page.getByRole('region', { name: 'Columns of' })
  const rowOf = (page: Page, column: string) =>
    inColumns(page)
      .getByRole('row')
      .filter({ has: page.getByLabel(`Import ${column}`, { exact: true }) })
  const examplesOf = async (page: Page, column: string) =>
    await rowOf(page, column).getByRole('rowheader').locator('.example').allInnerTexts()

  /** Presses a button that sends the file, and returns the ID of its import. */
  async function send(page: Page): Promise<string> {
    await importButton(page).click()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
    return page.url().split('/').at(-1) ?? ''
  }

  async function storedFile(importId: string): Promise<string> {
    const { object_key: key } = await dashboard.db
      .selectFrom('imports')
      .select('object_key')
      .where('import_id', '=', importId)
      .executeTakeFirstOrThrow()
    return Buffer.concat(await Array.fromAsync(await dashboard.storage.read(key))).toString()
  }

  test('a file of German Excel is imported with renamed, left out and converted columns, and its mapping is offered again', async () => {
    const { appId, fixture, page, context, problems } = await openPage()
    await choose(page, 'Kunden.csv', files.germanExcel)
    await page.getByText('It may be Windows-1252, Western Europe: this is a guess.').waitFor()
    expect(await page.getByRole('combobox', { name: 'Separator' }).inputValue()).toBe(';')
    await page.getByText('user_id column is required. Choose the column that has the user IDs.').waitFor()
    for (const name of ['Import', 'Dry run']) {
      const button = page.getByRole('button', { name, exact: true })
      expect(await button.isDisabled()).toBe(true)
      expect(await page.evaluate(`document.getElementById('outcome').textContent`)).toContain(
        'user_id column is required',
      )
      expect(await button.getAttribute('aria-describedby')).toBe('outcome')
    }
    const columns = inColumns(page)
    await columns.getByText('All values shown could be “Numbers with a decimal comma”').first().waitFor()
    await takePictures(page, 'data-import-columns')
    await expectAccessible(page)
    // Nothing is converted unless a person says so.
    expect(await columns.getByLabel('Values of Größe').inputValue()).toBe('as-is')
    expect(await examplesOf(page, 'Notiz')).toEqual(['Straße 12; "Hof"', 'zwei ↵ Zeilen', 'Ölgemälde'])

    await columns.getByLabel('The user ID is in the column').selectOption({ label: 'Kundennr.' })
    expect(await columns.getByLabel('Key of Kundennr.').inputValue()).toBe('user_id')
    await columns.getByLabel('Key of Größe').fill('size')
    await columns.getByRole('button', { name: 'Use all 4 suggestions' }).click()
    expect(await columns.getByLabel('Key of E-Mail').inputValue()).toBe('email')
    await columns.getByText('1,70 → 1.70').waitFor()
    await columns.getByText('1.234,50 → 1234.50').waitFor()
    await columns.getByText('31.12.1990 → 1990-12-31').waitFor()
    await columns.getByLabel('Import Geheim').uncheck()
    await page.getByText('the error file is of the converted file').waitFor()
    await page.getByText('3 rows, 6 columns, 3 new keys, final').waitFor()
    expect(await page.getByRole('button', { name: 'Import', exact: true }).isEnabled()).toBe(true)
    await takePictures(page, 'data-import-converted')
    await expectAccessible(page)

    const importId = await send(page)
    expect(await storedFile(importId)).toBe(
      'user_id,email,size,Umsatz,Geboren,Notiz\n' +
        'user-1,anna@example.com,1.70,1234.50,1990-12-31,"Straße 12; ""Hof"""\n' +
        'user-2,ben@example.com,1.80,99.00,1985-02-01,"zwei\nZeilen"\n' +
        'user-3,,,,,Ölgemälde\n',
    )
    await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    expect((await resultOf(fixture, appId, importId)).view).toMatchObject({ rows_applied: 3, file_name: 'Kunden.csv' })
    expect(await profilesOf(fixture, appId)).toMatchObject({
      'user-2': { size: 1.8, Umsatz: 99, Geboren: '1985-02-01 00:00:00.000', Notiz: 'zwei\nZeilen' },
      'user-3': { email: 'old', Notiz: 'Ölgemälde' },
    })

    await page.goto(`/apps/${appId}/data-import`)
    await choose(page, 'Kunden 2.csv', files.germanExcel)
    // Nobody scrolls to find it before mapping the columns by hand.
    const offer = page.getByText('a mapping was kept for files with these columns')
    await offer.waitFor()
    const [offered, refused] = [await offer.boundingBox(), await page.locator('[data-refusals]').boundingBox()]
    expect(offered?.y).toBeLessThan(refused?.y ?? 0)
    expect(refused?.y).toBeLessThan(page.viewportSize()?.height ?? 0)
    expect(await inColumns(page).getByLabel('Key of Kundennr.').inputValue()).toBe('Kundennr.')
    await takePictures(page, 'data-import-mapping')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Use the mapping' }).click()
    for (const text of ['1,80 → 1.80', '99,00 → 99.00', '01.02.1985 → 1985-02-01'])
      await inColumns(page).getByText(text).waitFor()
    expect(await inColumns(page).getByLabel('Key of E-Mail').inputValue()).toBe('email')
    expect(await inColumns(page).getByLabel('Import Geheim').isChecked()).toBe(false)
    expect(problems).toEqual([])
    await context.close()
  })

  test('encodings, separators and line breaks of spreadsheets are recognised, named and converted', async () => {
    const { page, context, problems } = await openPage()
    const expectRead = async (
      [name, file]: [string, Buffer],
      { encoding, separator }: { encoding: string; separator: string },
      values: Record<string, string[]>,
    ) => {
      await choose(page, name, file)
      await page.getByRole('heading', { name }).waitFor()
      const selected = (label: string) => page.getByRole('combobox', { name: label, exact: true }).inputValue()
      expect([await selected('Encoding'), await selected('Separator')], name).toEqual([encoding, separator])
      for (const [column, examples] of Object.entries(values))
        expect(await examplesOf(page, column), name).toEqual(examples)
    }
    const isConverted = async () => (await page.getByText('Your browser converts the file').count()) === 1
    await expectRead(
      ['unicode.txt', files.unicodeText],
      { encoding: 'utf-16le', separator: '\t' },
      { user_id: ['user-1', 'user-2'], name: ['Łukasz', '山田'], note: ['a\tb', '5" disk'] },
    )
    await page.getByText('The byte order mark of the file names UTF-16, little-endian.').waitFor()
    expect(await isConverted()).toBe(true)
    await expectRead(['mark.csv', files.utf8WithMark], { encoding: 'utf-8', separator: ',' }, { name: ['Zoë'] })
    expect(await isConverted()).toBe(false)
    await expectRead(
      ['mac.csv', files.macintosh],
      { encoding: 'macintosh', separator: ';' },
      { name: ['Müller', 'André'] },
    )
    await expectRead(
      ['sjis.csv', files.shiftJis],
      { encoding: 'shift_jis', separator: ',' },
      { name: ['タロウ', '山田'] },
    )
    await expectRead(
      ['numbers.csv', files.numbers],
      { encoding: 'utf-8', separator: ';' },
      { name: ['Jürgen'], size: ['1,5'] },
    )
    await expectRead(
      ['office.csv', files.libreOffice],
      { encoding: 'utf-8', separator: ',' },
      { name: ['Zoë'], note: ['two ↵ lines'] },
    )
    await page.getByText('The whole file is UTF-8.').waitFor()
    expect(await isConverted()).toBe(false)
    expect(problems).toEqual([])
    await context.close()
  })

  test('the visitor chooses an encoding that the page cannot guess, and sees the preview change', async () => {
    const { page, context, problems } = await openPage()
    // The rows at the start are the same in every encoding, so the page shows the line that is not.
    const later = Buffer.from(`user-2;${'x'.repeat(70)}\r\n`.repeat(20_000))
    const start = files.russianExcel.indexOf('user-1')
    await choose(
      page,
      'russian.csv',
      Buffer.concat([files.russianExcel.subarray(0, start), later, files.russianExcel.subarray(start)]),
    )
    await page.getByText('It may be Windows-1252').waitFor()
    await page.getByText('user-1;Èâàí').waitFor()
    await page.getByRole('combobox', { name: 'Encoding' }).selectOption('windows-1251')
    await page.getByText('user-1;Иван').waitFor()
    await page.getByText('You chose Windows-1251, Cyrillic.').waitFor()
    const importId = await send(page)
    expect((await storedFile(importId)).split('\n').at(-2)).toBe('user-1,Иван')
    expect(problems).toEqual([])
    await context.close()
  })

  test('bytes of another encoding than the chosen one stop the conversion, and nothing is sent', async () => {
    const { appId, page, context, problems } = await openPage()
    await choose(page, 'latin.csv', files.germanExcel)
    await page.getByRole('combobox', { name: 'Encoding' }).selectOption('utf-8')
    await inColumns(page).getByLabel('Key of Kundennr.').fill('user_id')
    await importButton(page).click()
    await page.getByText(/bytes that are not UTF-8\. Choose another encoding\. Nothing was sent\./).waitFor()
    await expectAccessible(page)
    expect(await importButton(page).isEnabled()).toBe(true)
    expect(await dashboard.db.selectFrom('imports').select('file_name').where('app_id', '=', appId).execute()).toEqual([
      { file_name: null },
    ])
    expect(problems).toEqual([])
    await context.close()
  })

  test('a workbook is recognised, and a sentence says how to save it as CSV', async () => {
    const { appId, page, context, problems } = await openPage()
    await choose(page, 'people.xlsx', files.workbook)
    await page.getByText('This is a workbook of a spreadsheet, not CSV. In Excel, choose File, Save As').waitFor()
    await takePictures(page, 'data-import-workbook')
    await expectAccessible(page)
    expect(await importButton(page).isDisabled()).toBe(true)
    await choose(page, 'numbers.csv', files.numbers)
    await expect.poll(() => importButton(page).isEnabled()).toBe(true)
    expect(page.url()).toMatch(new RegExp(`/apps/${appId}/data-import$`))
    expect(problems).toEqual([])
    await context.close()
  })

  test('a file that needs no conversion is sent byte by byte', async () => {
    const { page, context, problems } = await openPage()
    await choose(page, 'mark.csv', files.utf8WithMark)
    await page.getByText('The file is sent as it is.').waitFor()
    expect(await storedFile(await send(page))).toBe(files.utf8WithMark.toString())
    expect(problems).toEqual([])
    await context.close()
  })

  test('a file that is sent before its encoding is shown waits for a person if the encoding is a guess', async () => {
    const { appId, page, context, problems } = await openPage()
    const { promise: pressed, resolve: press } = Promise.withResolvers<void>()
    await page.route('**/file-worker.ts', async (route) => {
      await pressed
      await route.continue()
    })
    await choose(page, 'russian.csv', files.russianExcel)
    await importButton(page).click()
    press()
    await page.getByText('The file is not UTF-8. Check the encoding, then send the file.').waitFor()
    await page.getByText('this is a guess').waitFor()
    expect(page.url()).toMatch(new RegExp(`/apps/${appId}/data-import$`))
    expect(problems).toEqual([])
    await context.close()
  })

  test('a conversion shows its progress, and a button stops it', async () => {
    const { appId, page, context, problems } = await openPage()
    await choose(page, 'Kunden.csv', files.germanExcel)
    await inColumns(page).getByLabel('Key of Kundennr.').fill('user_id')
    await page.route('**/file-worker.ts', () => {}) // the conversion never begins
    await importButton(page).click()
    await page.getByText('Converting the file', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Stop' }).click()
    await expect.poll(() => importButton(page).isEnabled()).toBe(true)
    const imports = dashboard.db.selectFrom('imports').select('file_name').where('app_id', '=', appId)
    expect(await imports.execute()).toEqual([{ file_name: null }])
    expect(problems).toEqual([])
    await context.close()
  })

  test('everything works with the keyboard alone', async () => {
    const { page, context, problems } = await openPage()
    await choose(page, 'numbers.csv', Buffer.from('ID;size\nuser-1;1,5\n'))
    await page.getByRole('heading', { name: 'How the file is read' }).waitFor()
    const tabTo = async (label: string) => {
      for (let presses = 0; presses < 60; presses++) {
        if ((await page.evaluate('document.activeElement?.getAttribute("aria-label")')) === label) return
        await page.keyboard.press('Tab')
      }
      throw new Error(`the keyboard does not reach ${label}`)
    }
    await page.getByLabel(/A CSV file/).focus()
    await tabTo('Separator')
    await page.keyboard.press('ArrowUp')
    await page.keyboard.press('ArrowDown')
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Separator')
    await tabTo('Key of ID')
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.type('user_id')
    // Only the bar below announces something while a person types.
    expect(await page.locator('[data-columns]').locator('[aria-live], [role=status], [role=alert]').count()).toBe(0)
    await tabTo('Values of size')
    await page.keyboard.press('ArrowDown')
    await page.getByText('1,5 → 1.5').waitFor()
    await tabTo('Key of size')
    await page.keyboard.press('Tab')
    for (let presses = 0; presses < 5; presses++) {
      if ((await page.evaluate('document.activeElement?.textContent')) === 'Import') break
      await page.keyboard.press('Tab')
    }
    await page.keyboard.press('Enter')
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
    expect(problems).toEqual([])
    await context.close()
  })
})
