import { queueNames } from '@sluice/config'
import { openHeartbeat, recordHistory } from '@sluice/operations'
import { openInspector, openQueues, type Queues } from '@sluice/queue'
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest'
import { type InterruptedLink, openLink } from '../api-limits/interrupted-link.ts'
import { until } from '../environment/wait.ts'
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

    const heartbeat = openHeartbeat(dashboard.db, queueNames, (error) => expect.unreachable(String(error)))
    await until('a live worker', async () => (await operator.get('/queues')).text.includes('All is well'))
    const { appId } = await openSampleApp(dashboard, 'Busy shop', 'busy@example.com')
    const { processing } = await addImports(dashboard.db, appId)
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
        lost_at: new Date(Date.now() - 5_000),
      })
      .execute()
    const { text } = await (await signIn(dashboard, 'operator@example.com')).get('/queues')
    expect(text).toContain('1 worker lost within the last hour.')
    expect(text).toContain('No worker is alive')
    expect(text).not.toContain('<details class="notice')
  })

  test('a loss is folded, and not red, when another worker has started', async () => {
    const heartbeat = openHeartbeat(dashboard.db, ['mails'], () => {})
    const operator = await signIn(dashboard, 'operator@example.com')
    const { text } = await until('the new worker', async () => {
      const answer = await operator.get('/queues')
      return !answer.text.includes('No worker is alive') && answer
    })
    expect(text).not.toContain('class="notice bad"')
    expect(text).toContain('<details class="notice warn" id="healed"><summary>1 worker lost within the last hour.')
    await heartbeat.stop()
  })

  test('each number of imports leads to the list of these imports', async () => {
    const operator = await signIn(dashboard, 'operator@example.com')
    const old = { source: 'v3', content_type: 'text/csv', object_key: 'none', state: 'completed' } as const
    const at = new Date(Date.now() - 3 * 86_400_000)
    await dashboard.db
      .insertInto('imports')
      .values([
        { ...old, app_id: 1, requested_at: at, started_at: at, finished_at: at },
        // It ended within 24 hours, although it was requested before.
        { ...old, app_id: 1, requested_at: at, started_at: at, finished_at: new Date() },
      ])
      .execute()
    const { text } = await operator.get('/queues')
    for (const [state, number] of [
      ['queued', 1],
      ['processing', 1],
      ['completed', 7],
      ['failed', 1],
    ] as const) {
      const link = new RegExp(`<a href="(/imports\\?state=${state}[^"]*)" aria-label="[^"]+">${number}</a>`).exec(text)
      const list = (await operator.get((link?.[1] ?? '').replaceAll('&amp;', '&'))).text
      expect(list.match(/<th scope="row"/g)).toHaveLength(number)
    }
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

describe.each(Object.entries(stores))('the jobs on %s', (name, redisUrl) => {
  describe.skipIf(name === 'Redis' && redisUrl === undefined)('for operators', () => {
    let dashboard: TestDashboard
    let queueStore: { redisUrl: string } | { databaseUrl: string }
    let queues: Queues
    beforeAll(async () => {
      dashboard = await openTestDashboard(async (database) => {
        queueStore = redisUrl === undefined ? { databaseUrl: database.url } : { redisUrl }
        return { queueStore }
      })
      await openOperator(dashboard)
      queues = openQueues(queueStore, () => {})
    })
    afterAll(async () => {
      await queues.close()
      await dashboard.close()
    })

    async function addMails(number: number): Promise<string[]> {
      const ids = Array.from({ length: number }, () => crypto.randomUUID())
      await queues.add(
        'mails',
        ids.map((id) => ({ id, payload: { appId: 1, mailId: id } })),
      )
      return ids
    }

    test('a waiting job is shown, and gone after it was removed; it cannot be removed again', async () => {
      const operator = await signIn(dashboard, 'operator@example.com')
      const [id = ''] = await addMails(1)
      const list = '/queues/jobs/mails?state=waiting'
      expect((await operator.get(list)).text).toContain(id)
      expect((await operator.post('/queues/jobs/mails/remove', { job: id }, list)).status).toBe(303)
      expect((await operator.get(list)).text).not.toContain(id)
      expect((await operator.post('/queues/jobs/mails/remove', { job: id }, '/queues/jobs')).status).toBe(404)
    })

    test('a page shows the newest 50 jobs, and leads to the next 50', async () => {
      const operator = await signIn(dashboard, 'operator@example.com')
      const ids = await addMails(60)
      const first = (await operator.get('/queues/jobs/mails?state=waiting')).text
      const [, next = ''] = /href="([^"]*from=50)"/.exec(first.replaceAll('&amp;', '&')) ?? []
      const second = (await operator.get(next)).text
      const shownIn = (text: string) => ids.filter((id) => text.includes(id))
      expect(shownIn(first)).toEqual(ids.slice(10))
      expect(shownIn(second)).toEqual(ids.slice(0, 10))
      const inspector = openInspector(queueStore, () => {})
      const removed = await Promise.all(ids.map((id) => inspector.remove('mails', id)))
      await inspector.close()
      expect(new Set(removed)).toEqual(new Set([true]))
    })

    test('workers start no job of a paused queue until it is resumed', async () => {
      const operator = await signIn(dashboard, 'operator@example.com')
      expect((await operator.post('/queues/jobs/exports/pause', {}, '/queues/jobs')).status).toBe(303)
      expect((await operator.get('/queues/jobs')).text).toContain('Resume exports')
      const worker = openQueues(queueStore, () => {})
      const done = new Set<string>()
      worker.work('exports', async ({ exportId }) => void done.add(exportId), { concurrency: 1 })
      worker.work('mails', async ({ mailId }) => void done.add(mailId), { concurrency: 1 })
      const waiting = crypto.randomUUID()
      await queues.add('exports', [{ id: waiting, payload: { appId: 1, exportId: waiting } }])
      const [mail = ''] = await addMails(1)
      await until('the job of the other queue', () => done.has(mail))
      expect(done.has(waiting)).toBe(false)
      expect((await operator.get('/queues/jobs')).text).toContain('1 waiting in exports')
      expect((await operator.post('/queues/jobs/exports/resume', {}, '/queues/jobs')).status).toBe(303)
      await until('the job of the resumed queue', () => done.has(waiting))
      await worker.close()
    })

    test('is not found by members, nor for other queues and states, and refuses forms of other sites', async () => {
      await openSampleApp(dashboard, 'Shop', 'anna@example.com')
      const member = await signIn(dashboard, 'anna@example.com')
      const operator = await signIn(dashboard, 'operator@example.com')
      for (const path of ['/queues', '/queues/jobs', '/queues/jobs/mails'])
        expect((await member.get(path)).status, path).toBe(404)
      for (const path of ['/queues/jobs/others', '/queues/jobs/mails?state=lost', '/queues/jobs/mails?from=-1'])
        expect((await operator.get(path)).status, path).toBe(404)
      expect((await member.post('/queues/jobs/mails/pause', {}, '/apps/1/settings')).status).toBe(404)
      for (const action of ['pause', 'resume', 'remove'])
        expect((await operator.postWithoutToken(`/queues/jobs/mails/${action}`, {})).status, action).toBe(403)
    })
  })
})

test('operators are told that the store of the queues does not answer, and the page recovers with it', async () => {
  let link: InterruptedLink | undefined
  const dashboard = await openTestDashboard(async (database) => {
    link = await openLink(database.url)
    return { queueStore: { databaseUrl: link.url } }
  })
  await openOperator(dashboard)
  const operator = await signIn(dashboard, 'operator@example.com')
  await link?.cut()
  for (const path of ['/queues/jobs', '/queues/jobs/mails']) {
    const { status, text } = await operator.get(path)
    expect(status).toBe(503)
    expect(text).toContain('The store of the queues does not answer')
  }
  await link?.restore()
  await until('the page of jobs', async () => (await operator.get('/queues/jobs')).status === 200)
  await dashboard.close()
  await link?.close()
})
