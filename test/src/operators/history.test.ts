import { sql } from '@sluice/database'
import { removeOldImports } from '@sluice/imports'
import { removeOldMails } from '@sluice/mail'
import type { Host } from '@sluice/worker-app/src/host.ts'
import { maintenanceTasks } from '@sluice/worker-app/src/maintenance-tasks.ts'
import { beforeEach, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { openApp, openImportFixture } from '../imports/import-fixture.ts'

// Imports and mails that ended over `HISTORY_RETENTION_DAYS` ago are removed, in small batches.
const fixture = openBeforeEach(openImportFixture)
let appId = 0
beforeEach(async () => {
  appId = await openApp(fixture)
})

const days = 400

async function addImports(name: string, count: number, columns: Record<string, unknown>): Promise<void> {
  const values = { files_removed_at: new Date(), finished_at: daysAgo(days + 1), ...columns }
  await fixture.context.db
    .insertInto('imports')
    .values(
      Array.from({ length: count }, () => ({
        ...({ app_id: appId, source: 'v3', state: 'completed', object_key: 'none', content_type: 'text/csv' } as const),
        file_name: name,
        ...values,
      })),
    )
    .execute()
}

const daysAgo = (count: number) => new Date(Date.now() - count * 86_400_000)
const namesLeft = async () => {
  const rows = await fixture.context.db
    .selectFrom('imports')
    .select('file_name')
    .distinct()
    .orderBy('file_name')
    .execute()
  return rows.map((row) => row.file_name)
}

// second-day.md §6, History.
test('imports that ended long ago are removed, more than one batch of them, and no others', async () => {
  await addImports('old', 1_234, {})
  await addImports('recent', 3, { finished_at: daysAgo(days - 1) })
  await addImports('unfinished', 1, { finished_at: null, state: 'queued', requested_at: daysAgo(500) })
  await addImports('with files', 2, { files_removed_at: null })
  await addImports('report due', 1, { state: 'cancelled', report_due: true })
  expect(await removeOldImports(fixture.context, days)).toBe(1_234)
  expect(await namesLeft()).toEqual(['recent', 'report due', 'unfinished', 'with files'])
  expect(await removeOldImports(fixture.context, days)).toBe(0)
})

test.each([
  [0, 1],
  [days, 0],
])('HISTORY_RETENTION_DAYS=%i: %i old imports are left', async (retention, left) => {
  await addImports('old', 1, {})
  const settings = { ...fixture.context.settings, HISTORY_RETENTION_DAYS: retention }
  const host = { context: { ...fixture.context, settings } } as unknown as Host
  await maintenanceTasks.find(({ name }) => name === 'remove-history')?.run(host)
  expect(await namesLeft()).toHaveLength(left)
})

test('an interrupted removal ends after its batch, and two removals at once do not wait for each other', async () => {
  await addImports('old', 1_800, {})
  const shutdown = new AbortController()
  shutdown.abort()
  expect(await removeOldImports({ ...fixture.context, shutdown: shutdown.signal }, days)).toBe(0)
  const removed = await Promise.all([removeOldImports(fixture.context, days), removeOldImports(fixture.context, days)])
  // Each run skips rows that the other has locked, so the last rows may be left to the next run.
  expect(removed[0] + removed[1] + (await removeOldImports(fixture.context, days))).toBe(1_800)
})

test('mails that were sent long ago are removed; waiting and recent ones stay', async () => {
  const { db } = fixture.context
  const mail = (event: string, state: 'sent' | 'waiting' | 'failed', created: Date) =>
    db
      .insertInto('mails')
      .values({
        ...{ app_id: appId, event, state, recipient: 'a@example.com', subject: '', text: '', html: '' },
        ...{
          created_at: created,
          next_attempt_at: created,
          last_error: null,
          sent_at: state === 'sent' ? created : null,
        },
      })
      .execute()
  await mail('old', 'sent', daysAgo(days + 1))
  await mail('refused', 'failed', daysAgo(days + 1))
  await mail('waiting', 'waiting', daysAgo(days + 1))
  await mail('recent', 'sent', daysAgo(days - 1))
  expect(await removeOldMails(db, days, undefined)).toBe(2)
  const left = await db.selectFrom('mails').select('event').orderBy('event').execute()
  expect(left.map(({ event }) => event)).toEqual(['recent', 'waiting'])
})

test('the removal looks up what is due by index, however many imports there are', async () => {
  await addImports('recent', 5_000, { finished_at: daysAgo(1) })
  await sql`analyze imports`.execute(fixture.context.db)
  const { rows } = await sql<{ 'QUERY PLAN': string }>`
    explain select app_id, import_id from imports
    where finished_at < now() - make_interval(days => ${days}) and files_removed_at is not null and not report_due
      and state in ('completed', 'failed', 'expired', 'cancelled')
    order by finished_at limit 500
  `.execute(fixture.context.db)
  expect(rows.map((row) => row['QUERY PLAN']).join('\n')).toContain('imports_ended')
})
