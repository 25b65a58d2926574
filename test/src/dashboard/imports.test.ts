import { reportCancelled } from '@sluice/imports'
import { describe, expect, test } from 'vitest'
import { openBeforeAll } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { errorChunkOf } from '../imports/error-chunk.ts'
import { changeImport } from '../imports/forced-states.ts'
import { claim, importFile, queueFile } from '../imports/import-fixture.ts'
import { fixtureOf, openAppWith } from './import-runs.ts'
import { openTestDashboard } from './test-dashboard.ts'
import { signIn } from './visitor.ts'

// The list of imports and an import's page, as the server renders them.
const dashboard = openBeforeAll(openTestDashboard)

const file = 'user_id,age,plan\nu1,34,basic\nu2,x,basic\nghost,1,pro\nghost,y,pro\n'

describe('an import’s page', () => {
  test('shows its result: counts, columns with types, errors by message, and the first rows with errors', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1', 'u2'])
    const fixture = fixtureOf(dashboard)
    await importFile(fixture, appId, 'user_id,age\nu1,1\n')
    const { view } = await importFile(fixture, appId, file)
    const visitor = await signIn(dashboard, email)
    const { text } = await visitor.get(`/apps/${appId}/imports/${view.import_id}`)
    expect(text).toContain('Completed')
    expect(text).toMatch(/<th scope="row">user_id is unregistered user<\/th>\s*<td class="number">2</)
    expect(text).toMatch(/<th scope="row">age should be integer<\/th>\s*<td class="number">2</)
    expect(text).toMatch(/<th scope="row" class="wrap">plan<\/th><td>string<\/td>/)
    expect(text).toMatch(
      /user_id is unregistered user, age should be integer<\/td>\s*<td class="at-fault">.*ghost<\/td><td class="at-fault">.*y<\/td><td>pro</,
    )
    expect(text).toMatch(/<span class="figure">1<\/span><span class="name">Rows that changed a profile/)
    expect(text).toContain('Import a corrected file…')
    expect(text).not.toContain('data-events')
    expect(text).toContain('a spreadsheet treats values that begin with =, +, - or @ as formulas')
    const download = await visitor.get(`/apps/${appId}/imports/${view.import_id}/error-file`)
    expect([download.status, download.headers.get('content-type')]).toEqual([200, 'text/csv; charset=utf-8'])
    expect(download.headers.get('content-disposition')).toBe(`attachment; filename="errors-${view.import_id}.csv"`)
    expect(download.text).toContain('SERVICE_ERRORS,user_id,age,plan\n')
  })

  test('its error file opens in Excel on Windows: with a byte order mark if it is UTF-8, named after the file', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const fixture = fixtureOf(dashboard)
    const visitor = await signIn(dashboard, email)
    const download = async (file: Buffer) => {
      const { view } = await importFile(fixture, appId, file)
      const name = { file_name: 'Käufer "2026"\n.csv.gz' }
      await changeImport(dashboard.db, view.import_id, name)
      const address = `${dashboard.url}/apps/${appId}/imports/${view.import_id}/error-file`
      const answer = await fetch(address, { headers: { Cookie: visitor.cookies() } })
      return { disposition: answer.headers.get('content-disposition'), bytes: Buffer.from(await answer.arrayBuffer()) }
    }
    const rows = 'SERVICE_ERRORS,user_id,plan\nuser_id is unregistered user,Zoë,pro\n'
    const { bytes, disposition } = await download(Buffer.from('user_id,plan\nZoë,pro\n'))
    expect(bytes).toEqual(Buffer.from(`\ufeff${rows}`))
    expect(disposition).toBe(
      `attachment; filename="errors-K_ufer _2026__.csv"; filename*=UTF-8''errors-K%C3%A4ufer%20_2026__.csv`,
    )
    // Corrected and sent again, the mark is no part of the header.
    const corrected = await importFile(fixture, appId, Buffer.from(bytes.toString().replace('Zoë', 'u1')))
    expect(corrected.view).toMatchObject({ state: 'completed', rows_applied: 1, rows_failed: 0 })
    const latin = await download(Buffer.from('user_id,plan\nZo\xeb,pro\n', 'latin1'))
    expect(latin.bytes.subarray(0, 14).toString()).toBe('SERVICE_ERRORS')
  })

  test('says what the error file of a file from the data import page may have', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const visitor = await signIn(dashboard, email)
    const { view } = await importFile(fixtureOf(dashboard), appId, file)
    const address = `/apps/${appId}/imports/${view.import_id}`
    const sentence = 'If your browser converted the file, the error file has commas and the converted values.'
    expect((await visitor.get(address)).text).not.toContain(sentence)
    const fromPage = { source: 'dashboard' } as const
    await changeImport(dashboard.db, view.import_id, fromPage)
    expect((await visitor.get(address)).text).toContain(sentence)
  })

  test('people who read error files slowly do not hold more than three connections to storage', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const fixture = fixtureOf(dashboard)
    const { view } = await importFile(fixture, appId, file)
    const { error_file_key: key } = await dashboard.db
      .selectFrom('imports')
      .select('error_file_key')
      .where('import_id', '=', view.import_id)
      .executeTakeFirstOrThrow()
    await fixture.storage.write(key ?? '', Buffer.alloc(32 * 2 ** 20, 'a\n'), 'text/csv')
    const headers = { Cookie: (await signIn(dashboard, email)).cookies() }
    const address = `${dashboard.url}/apps/${appId}/imports/${view.import_id}/error-file`
    const slow = [
      await fetch(address, { headers }),
      await fetch(address, { headers }),
      await fetch(address, { headers }),
    ]
    expect(slow.map(({ status }) => status)).toEqual([200, 200, 200])
    const refused = await fetch(address, { headers })
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '10'])
    await slow[0]?.body?.cancel()
    const answer = await until('a place for one more file', async () => {
      const next = await fetch(address, { headers })
      return next.status === 200 ? next : undefined
    })
    for (const { body } of [...slow.slice(1), answer]) await body?.cancel()
  })

  // second-day.md §6, Retry.
  test('always offers a retry, and first the import of a corrected file if the cause will not pass', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const { view } = await importFile(fixtureOf(dashboard), appId, 'user_id,a,a\nu1,1,1\n')
    const visitor = await signIn(dashboard, email)
    const pageAfter = async (error: string) => {
      await changeImport(dashboard.db, view.import_id, { error })
      return (await visitor.get(`/apps/${appId}/imports/${view.import_id}`)).text
    }
    const corrected = 'Import a corrected file…'
    const refused = await pageAfter(view.error ?? '')
    expect(refused).toMatch(/class="button main" href="[^"]*data-import">Import a corrected file…/)
    expect(refused).toMatch(/class="button" href="[^"]*retry">Retry the import…/)
    for (const error of ['could not be processed in 5 attempts', 'profile keys are not registered: a']) {
      const text = await pageAfter(error)
      expect(text).toMatch(/class="button main" href="[^"]*retry">Retry the import…/)
      expect(text).not.toContain(corrected)
    }
  })

  // changes.md §2, The decision.
  test('shows the three commonest errors at once, and folds the others', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const { view } = await importFile(fixtureOf(dashboard), appId, file)
    const error_counts = JSON.stringify({ rare: 1, common: 900, 'less common': 30, 'rather rare': 2 })
    await changeImport(dashboard.db, view.import_id, { error_counts })
    const { text } = await (await signIn(dashboard, email)).get(`/apps/${appId}/imports/${view.import_id}`)
    expect(text).toMatch(/>common<.*>less common<.*>rather rare<.*<details><summary>1 other message.*>rare</s)
  })

  test('shows the first of many warnings and columns, and says how many more there are', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const { view } = await importFile(fixtureOf(dashboard), appId, file)
    const warning = { key: 'zip', type: 'int', message: '1 of 1 values begin with 0', examples: ['007'] }
    await changeImport(dashboard.db, view.import_id, {
      warnings: JSON.stringify(Array.from({ length: 1_500 }, () => warning)),
      columns: JSON.stringify(Array.from({ length: 50_000 }, (_, index) => `c${index}`)),
    })
    const { text } = await (await signIn(dashboard, email)).get(`/apps/${appId}/imports/${view.import_id}`)
    expect(text).toContain('… and 1,480 more.')
    expect(text).toContain('… and 49,500 more.')
    expect(text.length).toBeLessThan(200_000)
  })

  test('shows the rows with errors of the committed batches while the import runs', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1', 'u2'])
    const fixture = fixtureOf(dashboard, { BATCH_ROWS: '1' })
    await importFile(fixture, appId, 'user_id,age\nu1,1\n')
    const { view } = await importFile(fixture, appId, 'user_id,age\nu1,1\nu2,<i>x</i>\nu1,2\n')
    // Restores the state before the end: error chunks instead of an error file.
    const { db } = dashboard
    const columns = ['user_id', 'age']
    await db
      .insertInto('import_chunks')
      .values(errorChunkOf({ appId, importId: view.import_id, position: 1, columns }, ['u2', '<i>x</i>']).chunk)
      .execute()
    await changeImport(db, view.import_id, {
      state: 'processing',
      finished_at: null,
      error_file_key: null,
      error_file_secret: null,
    })
    const { text } = await (await signIn(dashboard, email)).get(`/apps/${appId}/imports/${view.import_id}`)
    expect(text).toMatch(
      /user_id is unregistered user<\/td>\s*<td class="at-fault">.*u2<\/td><td>&lt;i&gt;x&lt;\/i&gt;</,
    )
    expect(text).toContain('<progress')
    expect(text).toContain('data-events')
  })

  test('shows from which row on the error file omits rows', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const rows = 'u1,1\nghost,1\nu1,2\nghost,2\nghost,3\n'
    const visitor = await signIn(dashboard, email)
    const pageOf = async (limit: number) => {
      const fixture = fixtureOf(dashboard, { ERROR_FILE_LIMIT: String(limit) })
      const { view } = await importFile(fixture, appId, `user_id,age\n${rows}`)
      return (await visitor.get(`/apps/${appId}/imports/${view.import_id}`)).text
    }
    const firstLine = 'SERVICE_ERRORS,user_id,age\nuser_id is unregistered user,ghost,1\n'.length
    expect(await pageOf(firstLine)).toContain('The error file ends before row 4 of the file')
    expect(await pageOf(firstLine - 1)).toContain('The error file ends before row 2 of the file')
    expect(await pageOf(1_000)).not.toContain('The error file ends')
  })

  test('shows what the import waits for: its file, another import, a worker, or the next try', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const fixture = fixtureOf(dashboard)
    const visitor = await signIn(dashboard, email)
    const show = async (importId: string) => (await visitor.get(`/apps/${appId}/imports/${importId}`)).text
    const first = await queueFile(fixture, appId, file)
    const second = await queueFile(fixture, appId, file)
    expect(await show(first)).toContain('a worker takes it within seconds')
    expect(await show(second)).toMatch(
      /Waits for 1 import of this app, first for\s*<a [^>]*>\w{8}<\/a>, which is queued/,
    )
    await claim(fixture, appId, first)
    expect(await show(second)).toContain('which is running')
    const retried = { state: 'queued', retry_at: new Date(Date.now() + 60_000) } as const
    await changeImport(dashboard.db, first, retried)
    expect(await show(first)).toContain('The next attempt is at')
    await changeImport(dashboard.db, first, { state: 'awaiting_upload' })
    expect(await show(first)).toContain('The upload has not ended')
    expect((await visitor.get(`/apps/${appId}/imports`)).text).toContain('position 2')
  })

  test('states for a dry run that nothing was applied', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const { view } = await importFile(fixtureOf(dashboard), appId, file, { dryRun: true })
    const { text } = await (await signIn(dashboard, email)).get(`/apps/${appId}/imports/${view.import_id}`)
    expect(text).toContain('Dry run')
    expect(text).toContain('nothing was applied')
    expect(text).toMatch(/<span class="figure">1<\/span><span class="name">Rows without errors/)
  })
})

describe('cancelling', () => {
  test('requires a confirmation; then the page and the mail show how many rows stay applied', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const fixture = fixtureOf(dashboard)
    const importId = await queueFile(fixture, appId, file)
    await changeImport(dashboard.db, importId, { rows_total: 1200, rows_applied: 1200 })
    const visitor = await signIn(dashboard, email)
    const address = `/apps/${appId}/imports/${importId}`
    expect((await visitor.get(address)).text).toContain(`href="${address}/cancel"`)
    expect((await visitor.get(`${address}/cancel`)).text).toContain('1,200 rows applied so far stay applied')
    expect((await visitor.postWithoutToken(`${address}/cancel`, {})).status).toBe(403)
    expect((await visitor.post(`${address}/cancel`)).headers.get('location')).toBe(address)
    const { text } = await visitor.get(address)
    expect(text).toContain('1,200 rows had been applied, and stay so.')
    expect(text).not.toContain(`${address}/cancel`)
    await reportCancelled(fixture.context)
    const mail = await dashboard.db
      .selectFrom('mails')
      .select('text')
      .where('app_id', '=', appId)
      .executeTakeFirstOrThrow()
    expect(mail.text).toContain('stay applied: 1,200.')
  })

  test('has no effect on an import that has ended meanwhile', async () => {
    const { appId, email } = await openAppWith(dashboard, ['u1'])
    const { view } = await importFile(fixtureOf(dashboard), appId, file)
    const visitor = await signIn(dashboard, email)
    const address = `/apps/${appId}/imports/${view.import_id}/cancel`
    expect((await visitor.get(address)).status).toBe(409)
    expect((await visitor.post(address, {}, `/apps/${appId}/imports`)).status).toBe(409)
  })
})

describe('an import of another app', () => {
  test('is not found: page, events, error file and cancellation', async () => {
    const { appId } = await openAppWith(dashboard, ['u1'])
    const other = await openAppWith(dashboard, ['u1'])
    const { view } = await importFile(fixtureOf(dashboard), appId, file)
    const running = await queueFile(fixtureOf(dashboard), appId, file)
    const stranger = await signIn(dashboard, other.email)
    for (const importId of [view.import_id, running]) {
      for (const page of ['', '/events', '/error-file', '/cancel']) {
        for (const app of [appId, other.appId]) {
          expect((await stranger.get(`/apps/${app}/imports/${importId}${page}`)).status, `${app} ${page}`).toBe(404)
        }
      }
      const own = `/apps/${other.appId}/imports`
      expect((await stranger.post(`/apps/${appId}/imports/${importId}/cancel`, {}, own)).status).toBe(404)
      expect((await stranger.post(`${own}/${importId}/cancel`, {}, own)).status).toBe(404)
    }
    const { state } = await dashboard.db
      .selectFrom('imports')
      .select('state')
      .where('import_id', '=', running)
      .executeTakeFirstOrThrow()
    expect(state).toBe('queued')
    expect((await stranger.get(`/apps/${other.appId}/imports/${"x'--"}`)).status).toBe(404)
  })
})

test('HTML in the name of a file, a header, a cell, a user ID or a message is shown as text', async () => {
  const { appId, email } = await openAppWith(dashboard, ['u1'])
  const evil = '<img src=x onerror=alert(1)>'
  const { view } = await importFile(fixtureOf(dashboard), appId, `user_id,${evil}\n${evil},${evil}\nu1,a\n`)
  await changeImport(dashboard.db, view.import_id, { file_name: `${evil}.csv` })
  const bad = await importFile(fixtureOf(dashboard), appId, `user_id,${evil},${evil}\n`)
  expect(bad.view.state).toBe('failed')
  const visitor = await signIn(dashboard, email)
  for (const page of ['', `/${view.import_id}`, `/${bad.view.import_id}`]) {
    const { text } = await visitor.get(`/apps/${appId}/imports${page}`)
    expect(text).toContain('&lt;img src=x')
    expect(text).not.toContain('<img src=x')
  }
})
