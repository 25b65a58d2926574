import type { WebhookBody } from '@sluice/contract'
import { requestDeletion, runDeletions } from '@sluice/deletions'
import { approveImport, cancelImport, noticeUploads, reportCancelled, runImport, showImport } from '@sluice/imports'
import { addEndpoint } from '@sluice/webhooks'
import { beforeEach, describe, expect, test } from 'vitest'
import { openDeletionFixture, schedule } from '../deletions/deletion-fixture.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { request, runNext, show } from '../exports/export-fixture.ts'
import { changeImport } from '../imports/forced-states.ts'
import { claim, importFile, openApp, queueFile } from '../imports/import-fixture.ts'
import { localRule, localSettings } from './webhook-fixture.ts'

// What each event says. The data are views of the API without links, and contain no values of users.
const fixture = openBeforeEach(openDeletionFixture)
let appId: number
beforeEach(async () => {
  appId = await openApp(fixture, ['alice', 'bob'])
  await addEndpoint(fixture.database.db, { keys: localSettings.ENCRYPTION_KEYS, rule: localRule }, appId, {
    url: 'http://127.0.0.1/',
  })
})

async function bodies(): Promise<(WebhookBody & { data: Record<string, unknown> })[]> {
  const rows = await fixture.database.db.selectFrom('webhook_deliveries').select('body').orderBy('created_at').execute()
  return rows.map(({ body }) => JSON.parse(body))
}

async function viewOf(importId: string) {
  const view = await showImport(fixture.database.db, 'http://api.test', { appId, importId })
  if (view === undefined) throw new Error('no import')
  const { error_file_url: link, changes_file_url: _, ...rest } = view
  return { link, rest }
}

// second-day.md §5, Event bodies.
describe('an import', () => {
  // changes.md §1, Elsewhere.
  test('that completes has an event with its view, without the link to the error file', async () => {
    const { view } = await importFile(fixture, appId, 'user_id,name\nalice,Alice\nnobody,x\n')
    const { link, rest } = await viewOf(view.import_id)
    expect(link).not.toBeNull()
    expect(await bodies()).toEqual([{ type: 'import.completed', timestamp: view.finished_at, data: rest }])
    expect(rest).toMatchObject({ state: 'completed', rows_total: 2, rows_failed: 1, rows_changed: 1 })
  })

  test('that fails has an event with the reason', async () => {
    const { view } = await importFile(fixture, appId, 'name\nx\n')
    const { rest } = await viewOf(view.import_id)
    expect(await bodies()).toEqual([{ type: 'import.failed', timestamp: view.finished_at, data: rest }])
    expect(rest).toMatchObject({ state: 'failed', error: 'user_id column is required' })
  })

  // changes.md §2, Held.
  test('that is held has an event with the reasons, and another one at its end', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,name\nalice,Alice\n', 'text/csv', false, {
      holdIf: 'always',
    })
    const run = async () =>
      await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    await run()
    const { rest } = await viewOf(importId)
    expect(rest).toMatchObject({ state: 'held', held: { reasons: ['every import is held'] } })
    expect(await bodies()).toEqual([{ type: 'import.held', timestamp: expect.any(String), data: rest }])
    await approveImport(fixture.database.db, { appId, importId })
    await run()
    expect((await bodies()).map(({ type }) => type)).toEqual(['import.held', 'import.completed'])
  })

  test('that is cancelled has one event, with its report', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,name\nalice,Alice\n')
    await cancelImport(fixture.database.db, { appId, importId })
    await reportCancelled(fixture.context)
    await reportCancelled(fixture.context)
    const { rest } = await viewOf(importId)
    expect(await bodies()).toEqual([{ type: 'import.cancelled', timestamp: rest.finished_at, data: rest }])
  })

  test.each([
    ['v3', 'its upload never comes'],
    ['v2', 'its request dies'],
  ] as const)('of route %s expires with an event when %s', async (source, _) => {
    const importId = crypto.randomUUID()
    const long = new Date(Date.now() - 3_600_000)
    await fixture.database.db
      .insertInto('imports')
      .values({
        ...{ app_id: appId, import_id: importId, source, state: 'awaiting_upload' },
        ...{ object_key: `apps/${appId}/imports/${importId}/upload`, content_type: 'text/csv' },
        ...{ upload_check_at: long, upload_expires_at: long },
      })
      .execute()
    expect((await noticeUploads(fixture.context)).expired).toBe(1)
    const { rest } = await viewOf(importId)
    expect(await bodies()).toEqual([{ type: 'import.expired', timestamp: rest.finished_at, data: rest }])
  })

  test('with warnings has an event without their examples, which are values of users', async () => {
    const { view } = await importFile(fixture, appId, 'user_id,zip\nalice,00712\nbob,12\n')
    expect(view.warnings[0]?.examples).toEqual(['00712'])
    const [event] = await bodies()
    expect(event?.data.warnings).toEqual([{ ...view.warnings[0], examples: [] }])
    expect(JSON.stringify(event)).not.toContain('"00712"')
  })

  test('is not read for an event that nobody has chosen', async () => {
    await fixture.database.db
      .updateTable('webhook_endpoints')
      .set({ events: ['import.failed'] })
      .execute()
    await importFile(fixture, appId, 'user_id,name\nalice,Alice\n')
    expect(await bodies()).toEqual([])
  })
})

test('an export that completes has an event with its view, without the link to the file', async () => {
  const exportId = await request(fixture, appId)
  expect(await runNext(fixture)).toBe('completed')
  const { file_url: link, ...view } = await show(fixture, appId, exportId)
  expect(link).not.toBeNull()
  expect(await bodies()).toEqual([{ type: 'export.completed', timestamp: view.finished_at, data: view }])
  expect(view).toMatchObject({ state: 'completed', rows: 2 })
})

describe('a deletion date', () => {
  async function requestFor(...userIds: string[]): Promise<void> {
    const accepted = new Date(schedule.accepted)
    await requestDeletion(fixture.deletions, { appId, userIds, tokenLastFour: 'abcd' }, accepted)
  }

  test('has one event when all its requests have completed, with their number and that of the deleted users', async () => {
    await requestFor('alice', 'unknown')
    await requestFor('bob')
    await runDeletions(fixture.deletions, new Date(schedule.beforeCompletion))
    expect(await bodies()).toEqual([])
    const completion = new Date(schedule.completion)
    await runDeletions(fixture.deletions, completion)
    await runDeletions(fixture.deletions, completion)
    const completedAt = completion.toISOString()
    expect(await bodies()).toEqual([
      {
        type: 'deletion.completed',
        timestamp: completedAt,
        data: { completed_at: completedAt, requests: 2, users: 2 },
      },
    ])
  })

  test('removes the names of files from deliveries that are still kept', async () => {
    const importId = await queueFile(fixture, appId, 'user_id,name\nalice,Alice\n')
    const db = fixture.database.db
    await changeImport(db, importId, { file_name: 'alice.csv' })
    await cancelImport(db, { appId, importId })
    await reportCancelled(fixture.context)
    expect((await bodies())[0]?.data.file_name).toBe('alice.csv')
    await requestFor('alice')
    await runDeletions(fixture.deletions, new Date(schedule.completion))
    expect((await bodies())[0]?.data.file_name).toBeNull()
    const stored = JSON.stringify(await db.selectFrom('webhook_deliveries').selectAll().execute())
    expect(stored).not.toContain('alice')
  })
})
