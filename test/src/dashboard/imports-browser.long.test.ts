import { runImport } from '@sluice/imports'
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { claim, importFile, queueFile } from '../imports/import-fixture.ts'
import { slowReads } from '../imports/slow-storage.ts'
import { expectAccessible, phone, takePictures } from './browser.ts'
import { describeInBrowser } from './describe-in-browser.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'

const users = Array.from({ length: 200 }, (_, index) => `user-${index}`)
const never = new AbortController().signal

/** A file in which every twentieth age is invalid and every fiftieth user is unknown. */
const file = [
  'user_id,age,plan,joined',
  ...Array.from({ length: 2_000 }, (_, index) => {
    const user = index % 50 === 49 ? `ghost-${index}` : users[index % users.length]
    return `${user},${index % 20 === 7 ? 'unknown' : 18 + (index % 60)},${index % 3 ? 'basic' : 'pro'},2026-03-01T10:00:00Z`
  }),
  '',
].join('\n')

/** Expects that no table of the page has columns outside a phone's screen. */
async function expectTablesFitPhone(page: Page): Promise<void> {
  const size = page.viewportSize()
  await page.setViewportSize(phone)
  const hidden = await page
    .locator('.scroll')
    .evaluateAll((tables) => tables.map(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth))
  expect(hidden.length).toBeGreaterThan(0)
  expect(Math.max(...hidden), 'hidden width of a table, px').toBe(0)
  if (size !== null) await page.setViewportSize(size)
}

describeInBrowser((dashboard, openWindow) => {
  test('an import’s page updates while the import runs, shows its errors, and offers the error file', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard, { BATCH_ROWS: '200' })
    await importFile(fixture, appId, 'user_id,age\nuser-1,20\n')
    const importId = await queueFile(fixture, appId, file)
    await dashboard.db
      .updateTable('imports')
      .set({ stored_size: Buffer.byteLength(file) })
      .execute()
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/imports/${importId}`)
    await page.getByText('a worker takes it within seconds').waitFor()

    const middle = Promise.withResolvers<void>()
    const storage = slowReads(fixture.storage, 8192, async (at) => {
      if (at >= file.length / 2) await middle.promise
    })
    const running = runImport({ ...fixture.context, storage }, await claim(fixture, appId, importId), never)
    await page.getByText('Running').waitFor()
    const percent = () => page.getByRole('progressbar').getAttribute('value').then(Number)
    const half = await until('half of the bar', async () => {
      const value = await percent()
      return value >= 30 && value
    })
    expect(half).toBeLessThan(70)
    await page.getByRole('heading', { name: 'Errors by message' }).waitFor()
    await page.getByText('Time left, about').waitFor()
    await takePictures(page, 'import-running')
    await expectAccessible(page)

    middle.resolve()
    await running
    await page.getByText('Completed').waitFor()
    await page.getByRole('listitem').filter({ hasText: 'Rows applied' }).getByText('1,860').waitFor()
    expect(await page.getByRole('row', { name: /age should be integer 100/ }).count()).toBe(1)
    await takePictures(page, 'import-completed')
    await expectAccessible(page)
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Download the error file' }).click(),
    ])
    expect(download.suggestedFilename()).toBe(`errors-${importId}.csv`)
    const lines = Buffer.concat(await (await download.createReadStream()).toArray())
      .toString()
      .split('\n')
    expect(lines[0]).toBe('\ufeffSERVICE_ERRORS,user_id,age,plan,joined')
    expect(lines).toHaveLength(1 + 140 + 1)
    expect(problems).toEqual([])
    await context.close()
  })

  test('a page that gets no stream reloads itself, and so still updates', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    const importId = await queueFile(fixture, appId, 'user_id,age\nuser-1,20\n')
    const { page, context, problems } = await openWindow(email)
    const cookies = await context.cookies()
    const stop = new AbortController()
    const headers = { Cookie: cookies.map(({ name, value }) => `${name}=${value}`).join('; ') }
    const eventsOf = (id: string) => `${dashboard.url}/apps/${appId}/imports/${id}/events`
    const waiting = await queueFile(fixture, appId, 'user_id,age\nuser-1,20\n')
    const streams = await Promise.all(
      Array.from({ length: 20 }, () => fetch(eventsOf(waiting), { headers, signal: stop.signal })),
    )
    expect(streams.every(({ ok }) => ok)).toBe(true)

    const events = eventsOf(importId)
    const refused = page.waitForResponse((response) => response.url() === events && response.status() === 503)
    await page.goto(`/apps/${appId}/imports/${importId}`)
    await refused
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    await page.getByText('Completed').waitFor()
    stop.abort()
    // The browser itself reports the refused stream.
    expect(problems.filter((problem) => !problem.includes('503'))).toEqual([])
    await context.close()
  })

  test('a running import is cancelled with two clicks, and its committed batches stay applied', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard, { BATCH_ROWS: '200' })
    const importId = await queueFile(fixture, appId, file)
    const middle = Promise.withResolvers<void>()
    const storage = slowReads(fixture.storage, 8192, async (at) => {
      if (at >= file.length / 2) await middle.promise
    })
    const { page, context, problems } = await openWindow(email)
    const running = runImport({ ...fixture.context, storage }, await claim(fixture, appId, importId), never)
    await page.goto(`/apps/${appId}/imports/${importId}`)
    await until(
      'some rows',
      async () => (await page.getByText('Rows applied').locator('..').innerText()).match(/[1-9]/) !== null,
    )
    await page.getByRole('link', { name: 'Cancel the import…' }).click()
    await page.getByRole('button', { name: 'Cancel the import' }).waitFor()
    await takePictures(page, 'import-cancel')
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Cancel the import' }).click()
    await page.getByText(/had been applied, and stay so/).waitFor()
    middle.resolve()
    expect(await running).toEqual({ outcome: 'cancelled' })
    await page.goto(`/apps/${appId}/imports`)
    await page.getByRole('cell').getByText('Cancelled').waitFor()
    await takePictures(page, 'imports')
    await expectAccessible(page)
    expect(problems).toEqual([])
    await context.close()
  })

  test('the list updates itself while an import runs', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    const importId = await queueFile(fixture, appId, 'user_id,age\nuser-1,20\n')
    const { page, context, problems } = await openWindow(email)
    await page.goto(`/apps/${appId}/imports`)
    await page.getByRole('cell').getByText('Queued').waitFor()
    await runImport(fixture.context, await claim(fixture, appId, importId), never)
    await page.getByRole('cell').getByText('Completed').waitFor()
    expect(problems).toEqual([])
    await context.close()
  })

  // changes.md §2 and §3.
  test('a file is chosen with bounds, checked, held, approved and undone, with the numbers before each step', async () => {
    const { appId, email } = await openAppWith(dashboard, users)
    const fixture = fixtureOf(dashboard)
    const rows = (plan: string) =>
      `user_id,plan,city\n${users.map((user) => `${user},${plan},Oslo\n`).join('')}ghost,x,y\n`
    await importFile(fixture, appId, rows('basic'))
    const { page, context, problems } = await openWindow(email)
    const runNewest = async () => {
      const { import_id: importId } = await dashboard.db
        .selectFrom('imports')
        .select('import_id')
        .where('app_id', '=', appId)
        .where('state', '=', 'queued')
        .executeTakeFirstOrThrow()
      await runImport(fixture.context, await claim(fixture, appId, importId), never)
    }
    const look = async (name: string) => {
      await takePictures(page, name)
      await expectAccessible(page)
    }
    const choose = async () => {
      const buffer = Buffer.from(rows('pro'))
      await page.goto(`/apps/${appId}/data-import`)
      await page.getByLabel(/A CSV file/).setInputFiles({ name: 'people.csv', mimeType: 'text/csv', buffer })
      await page.getByText('More options').click()
    }
    const changed = page.getByLabel('Percent of rows that change or remove a stored value')
    await choose()
    await changed.fill('101')
    await page.getByText('More options').click()
    await page.getByRole('button', { name: 'Dry run' }).click()
    await changed.waitFor()
    await changed.fill('20')
    await page.getByLabel('Keep what each row changes').check()
    await look('data-import-bounds')
    await page.getByRole('button', { name: 'Dry run' }).click()
    await page.getByText('a worker takes it within seconds').waitFor()
    await runNewest()
    await page.getByText('The import would be held for approval:').waitFor()
    await page.getByText('Percent of rows that change or remove a stored value: 99.5, more than 20').waitFor()
    await look('import-dry-run-held')

    await choose()
    await changed.fill('20')
    await page.getByLabel('Keep what each row changes').check()
    await page.getByRole('button', { name: 'Import', exact: true }).click()
    await page.getByText('a worker takes it within seconds').waitFor()
    await runNewest()
    await page.getByText('The import is held for approval:').waitFor()
    await page.getByRole('cell', { name: 'basic' }).first().waitFor()
    await look('import-held')
    await expectTablesFitPhone(page)
    const address = page.url()
    await page.goto(`/apps/${appId}/imports?state=held`)
    await page.getByRole('cell').getByText('Held').waitFor()
    await page.goto(address)
    await page.getByRole('link', { name: 'Approve…' }).click()
    await page.getByText('This applies 200 rows of the file').waitFor()
    await look('import-approve')
    await page.getByRole('button', { name: 'Apply 200 rows' }).click()
    await page.getByText('a worker takes it within seconds').waitFor()
    await runNewest()
    await page.getByText('Completed').waitFor()
    await look('import-approved')

    await page.getByRole('link', { name: 'Undo…' }).click()
    await page.getByRole('button', { name: 'Count first' }).waitFor()
    expect(await page.getByRole('button', { name: 'Undo the import' }).count()).toBe(0)
    await look('import-undo')
    await page.getByRole('button', { name: 'Count first' }).click()
    await page.getByText('counts what would be taken back…').waitFor()
    await runNewest()
    await page.getByText('200 rows with changes. Values: 200 changed.').nth(1).waitFor()
    await look('import-undo-counted')
    await page.getByRole('button', { name: 'Undo the import' }).click()
    await page.getByText('a worker takes it within seconds').waitFor()
    await runNewest()
    await page.getByText('Completed').waitFor()
    expect(problems).toEqual([])
    await context.close()
  })
})
