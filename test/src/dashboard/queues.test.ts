import { once } from 'node:events'
import http from 'node:http'
import { openHeartbeat, recordHistory } from '@sluice/operations'
import { openQueues } from '@sluice/queue'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { until } from '../environment/wait.ts'
import { expectAccessible, openBrowser, openWindow, takePictures } from './browser.ts'
import { openSampleApp } from './sample-app.ts'
import { addImports } from './sample-data.ts'
import { openOperator, openTestDashboard, type TestDashboard } from './test-dashboard.ts'
import { signIn } from './visitor.ts'

describe('the overview of operators', () => {
  let dashboard: TestDashboard
  beforeAll(async () => {
    dashboard = await openTestDashboard()
    await openOperator(dashboard)
  })
  afterAll(async () => await dashboard.close())

  test('shows problems first, then what each worker does and how many rows per second were imported', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    expect((await operator.get('/queues')).text).toContain('No worker is alive')

    const { appId } = await openSampleApp(dashboard, 'Busy shop', 'busy@example.com')
    const { processing } = await addImports(dashboard.db, appId)
    const heartbeat = openHeartbeat(dashboard.db, ['imports'], (error) => expect.unreachable(String(error)))
    const done = Promise.withResolvers<void>()
    const work = heartbeat.during(processing, () => done.promise)
    const { text } = await until('the worker at work', async () => {
      const answer = await operator.get('/queues')
      return answer.text.includes('rows so far') && answer
    })
    expect(text).not.toContain('No worker is alive')
    expect(text).toContain(`process ${process.pid}`)
    expect(text).toContain(`/apps/${appId}/imports/${processing}`)
    expect(text).toContain('file maybe corrupt')
    // 600,000 rows within the last ten minutes, plus the rows of the running import.
    expect(text).toContain('650,000 rows in the last hour')
    done.resolve()
    await work
    await heartbeat.stop()
    expect(await dashboard.db.selectFrom('workers').selectAll().execute()).toEqual([])
  })

  test('a worker without heartbeats is shown as lost instead of alive', async () => {
    const heartbeat = openHeartbeat(dashboard.db, ['mails'], () => {})
    const workers = () => dashboard.db.selectFrom('workers').select('worker_id').execute()
    await until('the first heartbeat', async () => (await workers()).length === 1)
    await heartbeat.stop()
    await dashboard.db
      .insertInto('workers')
      .values({
        worker_id: crypto.randomUUID(),
        host: 'dead-host',
        pid: 7,
        queues: ['mails'],
        import_ids: [],
        seen_at: new Date(Date.now() - 30_000),
      })
      .execute()
    const { text } = await (await signIn(dashboard, 'operator@example.com')).get('/queues')
    expect(text).toContain('1 worker lost within the last hour.')
    expect(text).toContain('No worker is alive')
  })
})

describe('what operators see at three in the morning', () => {
  let dashboard: TestDashboard
  beforeAll(async () => {
    dashboard = await openTestDashboard()
    await openOperator(dashboard)
  })
  afterAll(async () => await dashboard.close())

  test('each problem says what to do and leads to its entry of the runbook, for operators only', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    const { text } = await operator.get('/queues')
    expect(text).toContain('Start a worker.')
    expect(text).toContain('href="/queues/runbook#sluicenoworkers"')
    const runbook = await operator.get('/queues/runbook')
    expect(runbook.text).toContain('id="sluicenoworkers"')
    await openSampleApp(dashboard, 'Shop', 'anna@example.com')
    const member = await signIn(dashboard, 'anna@example.com')
    expect((await member.get('/queues/runbook')).status).toBe(404)
  })

  test('shows rows, waiting and failed imports of 24 hours and of 7 days', async () => {
    const { appId } = await openSampleApp(dashboard, 'Busy shop', 'busy@example.com')
    await addImports(dashboard.db, appId)
    await recordHistory(dashboard.db)
    const operator = await signIn(dashboard, 'operator@example.com')
    for (const [period, name] of [
      ['24h', '24 hours'],
      ['7d', '7 days'],
      ['all', '24 hours'],
    ]) {
      const { text } = await operator.get(`/queues?period=${period}`)
      expect(text, period).toMatch(new RegExp(`aria-label="[\\d,]+ rows in ${name}, at most`))
      expect(text, period).toMatch(new RegExp(`aria-label="At most \\d+ imports? waited at a time in ${name}"`))
      expect(text, period).toMatch(new RegExp(`aria-label="1 failed import and \\d+ completed imports? in ${name}"`))
    }
  })
})

const stores = { Postgres: undefined, Redis: inject('redisUrl') }

describe.each(Object.entries(stores))('the queue board on %s', (name, redisUrl) => {
  const isMissing = (name === 'Redis' && redisUrl === undefined) || inject('chromium') === undefined
  describe.skipIf(isMissing)('in a browser', () => {
    let dashboard: TestDashboard
    let browser: Browser
    let queueStore: { redisUrl: string } | { databaseUrl: string }
    beforeAll(async () => {
      dashboard = await openTestDashboard(async (database) => {
        queueStore = redisUrl === undefined ? { databaseUrl: database.url } : { redisUrl }
        return { queueStore }
      })
      await openOperator(dashboard)
      browser = await openBrowser()
    })
    afterAll(async () => {
      await browser.close()
      await dashboard.close()
    })

    test('shows waiting jobs to operators only, without requests to other hosts', async () => {
      const queues = openQueues(queueStore, () => {})
      const id = crypto.randomUUID()
      await queues.add('mails', [{ id, payload: { appId: 1, mailId: id } }])
      const { page, context, problems } = await openWindow(browser, dashboard, 'operator@example.com')
      const hosts = new Set<string>()
      page.on('request', (request) => hosts.add(new URL(request.url()).origin))
      await page.goto('/queues/board/queue/mails')
      await page.getByText(id).first().waitFor()
      await takePictures(page, `queue-board-${name}`)
      expect([...hosts]).toEqual([dashboard.url])
      expect(problems).toEqual([])
      await context.close()
      await queues.close()
    })

    test('is not found by members, and refuses requests from other sites', async () => {
      const { appId } = await openSampleApp(dashboard, 'Shop', 'anna@example.com')
      const member = await signIn(dashboard, 'anna@example.com')
      expect((await member.get(`/apps/${appId}/settings`)).status).toBe(200)
      for (const path of [
        '/queues',
        '/queues/board',
        '/queues/board/',
        '/queues/board/api/queues',
        '/queues/board/static/js/main.js',
      ]) {
        expect((await member.get(path)).status, path).toBe(404)
      }
      const pause = { method: 'PUT', headers: { 'Content-Type': 'application/json' }, body: '{}' }
      const { page, context } = await openWindow(browser, dashboard, 'operator@example.com')
      const send = (address: string) =>
        page.evaluate(async ([address, pause]) => (await fetch(address, pause)).status, [address, pause] as const)
      await page.goto('/queues')
      // Cookies alone are not sufficient: the browser must state that the request comes from this site.
      const [cookies, address] = [await context.cookies(), `${dashboard.url}/queues/board/api/queues/mails/pause`]
      const Cookie = cookies.map(({ name, value }) => `${name}=${value}`).join('; ')
      for (const [headers, status] of [
        [{}, 403],
        [{ Origin: 'http://elsewhere.example.com' }, 403],
        [{ Origin: 'null' }, 403],
        [{ Origin: dashboard.url, 'Sec-Fetch-Site': 'same-site' }, 403],
        [{ Origin: dashboard.url }, 200],
      ] as const) {
        const answer = await request(address, { ...pause.headers, Cookie, ...headers }, pause.body)
        expect(answer, JSON.stringify(headers)).toBe(status)
      }
      expect(await send(address)).toBe(200)
      expect(await send(address.replace('pause', 'resume'))).toBe(200)
      await context.close()
    })
  })
})

describe.skipIf(inject('chromium') === undefined)('the overview in a browser', () => {
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

/**
 * Sends a PUT with exactly these headers, which `fetch` cannot: it sets the origin headers itself. Returns the status.
 */
async function request(address: string, headers: Record<string, string>, body: string): Promise<number | undefined> {
  const sent = http.request(address, { method: 'PUT', headers })
  sent.end(body)
  const [answer] = (await once(sent, 'response')) as [http.IncomingMessage]
  answer.resume()
  return answer.statusCode
}
