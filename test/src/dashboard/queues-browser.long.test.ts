import { openHeartbeat, recordHistory } from '@sluice/operations'
import { openQueues } from '@sluice/queue'
import { describe, expect, inject, onTestFinished, test } from 'vitest'
import { expectAccessible, openBrowser, openWindow, phone, takePictures } from './browser.ts'
import { openSampleApp } from './sample-app.ts'
import { addImports } from './sample-data.ts'
import { openOperator, openTestDashboard } from './test-dashboard.ts'

// queues.test.ts has what the pages say.
const stores = { Postgres: undefined, Redis: inject('redisUrl') }

describe.each(Object.entries(stores))('the jobs on %s in a browser', (name, redisUrl) => {
  const missing = inject('chromium') === undefined || (name === 'Redis' && redisUrl === undefined)
  test.skipIf(missing)('are accessible, and show what each job is about', async () => {
    let queueStore: { redisUrl: string } | { databaseUrl: string } = { redisUrl: redisUrl ?? '' }
    const dashboard = await openTestDashboard(async (database) => {
      if (redisUrl === undefined) queueStore = { databaseUrl: database.url }
      return { queueStore }
    })
    const queues = openQueues(queueStore, () => {})
    const browser = await openBrowser()
    onTestFinished(async () => {
      await browser.close()
      await queues.close()
      await dashboard.close()
    })
    await openOperator(dashboard)
    const { page, problems } = await openWindow(browser, dashboard, 'operator@example.com')
    const ids = [crypto.randomUUID(), crypto.randomUUID()]
    await queues.add(
      'mails',
      ids.map((id) => ({ id, payload: { appId: 1, mailId: id } })),
    )
    const importId = crypto.randomUUID()
    await queues.add('imports', [{ id: importId, payload: { appId: 1, importId } }])
    await page.goto('/queues')
    await page.getByRole('link', { name: 'Jobs of the queues' }).click()
    await expectAccessible(page)
    await takePictures(page, `jobs-queues-${name}`)
    await page.getByRole('link', { name: '2 waiting in mails' }).click()
    for (const id of ids) await page.getByRole('rowheader', { name: id }).waitFor()
    await expectAccessible(page)
    await takePictures(page, `jobs-${name}`)
    await page.goto('/queues/jobs/imports')
    const link = page.getByRole('link', { name: 'import of app 1' })
    expect(await link.getAttribute('href')).toBe(`/apps/1/imports/${importId}`)
    expect(problems).toEqual([])
  })
})

describe.skipIf(inject('chromium') === undefined)('the overview in a browser', () => {
  test('a healed loss that was opened stays open when the page refreshes itself', async () => {
    const dashboard = await openTestDashboard()
    const browser = await openBrowser()
    onTestFinished(async () => {
      await browser.close()
      await dashboard.close()
    })
    await openOperator(dashboard)
    const ago = (seconds: number) => new Date(Date.now() - seconds * 1000)
    const lost = { host: 'gone', pid: 7, queues: ['mails'], import_ids: [], seen_at: ago(60), lost_at: ago(50) }
    await dashboard.db
      .insertInto('workers')
      .values({ ...lost, worker_id: crypto.randomUUID() })
      .execute()
    const heartbeat = openHeartbeat(dashboard.db, ['imports'], () => {})
    onTestFinished(() => heartbeat.stop())
    const { page, problems } = await openWindow(browser, dashboard, 'operator@example.com')
    await page.goto('/queues')
    await page.getByText('1 worker lost within the last hour.').click()
    await page.getByText('The same number of workers has started since').waitFor()
    await page.getByRole('heading', { level: 1 }).click()
    await page.evaluate('document.activeElement.blur()')
    await page.evaluate("document.querySelector('#healed').dataset.first = ''")
    await page.locator('#healed[data-first]').waitFor({ state: 'detached' })
    expect(await page.getByText('The same number of workers has started since').isVisible()).toBe(true)
    await expectAccessible(page)
    await takePictures(page, 'queues-healed')
    expect(problems).toEqual([])
  })

  test('is accessible and refreshes itself', async () => {
    const dashboard = await openTestDashboard()
    const browser = await openBrowser()
    try {
      await openOperator(dashboard)
      const { appId } = await openSampleApp(dashboard, 'Busy shop', 'busy@example.com')
      const { processing } = await addImports(dashboard.db, appId)
      const { page, context, problems } = await openWindow(browser, dashboard, 'operator@example.com')
      await page.goto('/queues')
      await page.getByText('No worker is alive').waitFor()
      const heartbeat = openHeartbeat(dashboard.db, ['imports', 'mails', 'maintenance'], () => {})
      const done = Promise.withResolvers<void>()
      const work = heartbeat.during(processing, () => done.promise)
      await page.getByText('rows so far').waitFor()
      expect(await page.getByText('No worker is alive').count()).toBe(0)
      await expectAccessible(page)
      await takePictures(page, 'queues')
      await recordHistory(dashboard.db)
      await page.getByRole('link', { name: '7 days' }).click()
      await page.getByRole('heading', { name: 'Last 7 days' }).waitFor()
      await expectAccessible(page)
      await takePictures(page, 'queues-week')
      await page.setViewportSize(phone)
      for (const scrolled of [-1000, 0]) {
        // In one step, since the page replaces the chart when it refreshes itself.
        const left = await page.evaluate<number>(`
          document.querySelector('.chart').scrollLeft = ${scrolled}
          Math.min(...[...document.querySelector('.chart').querySelectorAll('.scale text')].map((label) => label.getBoundingClientRect().x))
        `)
        expect(left, 'the scale of a chart stays in view').toBeGreaterThanOrEqual(16)
      }
      await page.setViewportSize({ width: 1280, height: 800 })
      await page.goto('/queues/runbook')
      await expectAccessible(page)
      await takePictures(page, 'runbook')
      done.resolve()
      await work
      await heartbeat.stop()
      expect(problems).toEqual([])
      await context.close()
    } finally {
      await browser.close()
      await dashboard.close()
    }
  })
})
