import { gzipSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { afterAll, expect, test } from 'vitest'
import { importFile } from '../imports/import-fixture.ts'
import { takePictures } from './browser.ts'
import { describeInBrowser } from './describe-in-browser.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'

// Files in which one thing is unusual: the data import page neither guesses from it alone, nor forgets what was chosen.
describeInBrowser((dashboard, openWindow) => {
  let page: Page
  let appId: number
  let close: () => Promise<void>

  async function openPage(): Promise<void> {
    const app = await openAppWith(dashboard, ['u1'])
    appId = app.appId
    const opened = await openWindow(app.email)
    page = opened.page
    close = () => opened.context.close()
    await page.goto(`/apps/${appId}/data-import`)
  }
  afterAll(() => close?.())

  const choose = (name: string, buffer: Buffer) =>
    page.getByLabel(/A CSV file/).setInputFiles({ name, mimeType: 'text/csv', buffer })
  const encoding = () => page.getByRole('combobox', { name: 'Encoding', exact: true })
  const send = async () => {
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.waitForURL(/\/imports\/[0-9a-f-]{36}$/)
  }
  const lines = (count: number, cell: string) => Array.from({ length: count }, (_, row) => `u${row},${cell}\n`).join('')

  test('long names of a file and of its columns are no wider than a phone', async () => {
    await openPage()
    const [name, column] = [`${'longname'.repeat(20)}.csv`, 'n'.repeat(200)]
    await choose(name, Buffer.from(`user_id,${column},${column}\nu1,${column},2\n`))
    await page.getByText('duplicate columns').waitFor()
    await takePictures(page, 'data-import-long-names-refused')
    await choose(name, Buffer.from(`user_id,${column},0${column}\nu1,${column},${column}\n`))
    await page.getByText('2 new keys').waitFor()
    await takePictures(page, 'data-import-long-names')
    const header = `user_id,${'k'.repeat(200)}`
    const { view } = await importFile(fixtureOf(dashboard), appId, `${header},${header.slice(8)}\nu1,1,2\n`)
    await page.goto(`/apps/${appId}/imports/${view.import_id}`)
    await takePictures(page, 'import-long-names')
    await importFile(fixtureOf(dashboard), appId, `${header}\nu1,1\n`)
    await page.goto(`/apps/${appId}/profiles/key?key=${header.slice(8)}`)
    await takePictures(page, 'profiles-key-long-name')
    await close()
  })

  test('one line in another encoding, or one NUL, among hundreds in UTF-8 changes no encoding', async () => {
    await openPage()
    const oneLine = Buffer.concat([
      Buffer.from(`user_id,name\n${lines(200, 'Zoë')}u9,`),
      Buffer.from('Müller\n', 'latin1'),
    ])
    await choose('one-line.csv', oneLine)
    await page.getByText('The file has bytes that are not UTF-8').waitFor()
    expect(await encoding().inputValue()).toBe('utf-8')
    await page.getByText('u0,Zoë').waitFor()
    await takePictures(page, 'data-import-one-other-line')
    await choose('one-nul.csv', Buffer.from(`user_id,v\n${lines(7, 'x')}u7,x\0\n${lines(90, 'x')}`))
    await page.getByText('The whole file is UTF-8.').waitFor()
    expect(await encoding().inputValue()).toBe('utf-8')
    await close()
  })

  test('a gzip file of several members is previewed whole', async () => {
    await openPage()
    await choose('two.csv.gz', Buffer.concat([gzipSync('user_id,name\nu1,An'), gzipSync('na\nu2,Ben\n')]))
    await page.getByRole('region', { name: 'Columns of' }).getByText('Ben').waitFor()
    await page.getByText('The whole file is UTF-8.').waitFor()
    await close()
  })

  test('columns beyond the 500th can be left out, and a column with a warning is found in spite of the filter', async () => {
    await openPage()
    const names = Array.from({ length: 518 }, (_, index) => `c${index}`)
    await choose('wide.csv', Buffer.from(`user_id,${names.join(',')},\nu1${',1'.repeat(509)},007${',1'.repeat(9)}\n`))
    await page.getByText('empty columns').waitFor()
    await page.getByRole('button', { name: 'Show 20 more of 520 columns' }).click()
    await page.getByLabel('Import (no name)').uncheck()
    await page.getByText('empty columns').waitFor({ state: 'detached' })
    await page.getByLabel('Filter the columns').fill('C51')
    await expect.poll(() => page.getByRole('rowheader').count()).toBe(9)
    await page.getByLabel('Import c517').uncheck()
    await page.getByText('1 row, 518 columns').waitFor()
    await page.getByLabel('Filter the columns').fill('no such column')
    await page.getByRole('button', { name: '1 warning' }).click()
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Type of c509')
    expect(await page.getByLabel('Filter the columns').inputValue()).toBe('')
    await close()
  })

  test('a file that the browser restores is read again before it is sent', async () => {
    await openPage()
    // As Chromium restores it when a person goes back: the file is there without any event for the script.
    await page.evaluate(`{
      const files = new DataTransfer()
      files.items.add(new File(['user_id,late\\nu1,1\\n'], 'late.csv'))
      document.querySelector('input[type=file]').files = files.files
    }`)
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('The file was not read yet').waitFor()
    await page.getByLabel('Type of late').waitFor()
    expect(await dashboard.db.selectFrom('imports').select('import_id').where('app_id', '=', appId).execute()).toEqual(
      [],
    )
    await close()
  })

  test('a kept mapping has the chosen types', async () => {
    await openPage()
    const file = Buffer.from('user_id,plz,Ort\nu1,8000,Zürich\n')
    await choose('one.csv', file)
    await page.getByLabel('Type of plz').selectOption('string')
    await page.getByLabel('Keep this mapping for files with the same columns').check()
    await send()
    await dashboard.db.deleteFrom('imports').where('app_id', '=', appId).execute()
    await page.goto(`/apps/${appId}/data-import`)
    await choose('two.csv', file)
    await page.getByRole('button', { name: 'Use the mapping' }).click()
    expect(await page.getByLabel('Type of plz').inputValue()).toBe('string')
    await close()
  })

  test('after a dry run, the page says to correct the file and not to import the error file', async () => {
    await openPage()
    const { view } = await importFile(fixtureOf(dashboard), appId, 'user_id,n\nu1,1\nnobody,2\n', { dryRun: true })
    await page.goto(`/apps/${appId}/imports/${view.import_id}`)
    await page.getByText('this was a dry run, and the error file has no other rows').waitFor()
    await close()
  })
})
