import { Readable } from 'node:stream'
import { setImportDefaults } from '@sluice/accounts'
import type { HoldIf } from '@sluice/contract'
import { sql } from '@sluice/database'
import {
  approveImport,
  cancelImport,
  dispatchNextInOrder,
  importCheckedFile,
  queueStoredFile,
  receiveDashboardFile,
  receiveV2File,
  reportCancelled,
  retryImport,
  runImport,
  undoImport,
  uploadKey,
} from '@sluice/imports'
import { describe, expect, test } from 'vitest'
import { endPause } from './forced-states.ts'
import { eachWithApp } from './import-fixture.ts'

// Guard rails: the whole file is checked before its first row, and above a bound the import is held
// (changes.md §2). `run/hold-reasons.test.ts` has the comparison with the bounds.
const users = Array.from({ length: 10 }, (_, n) => `u${n}`)
const app = eachWithApp(users, { BATCH_ROWS: '3', HOLD_LIMIT: '2h' })

const file = (value: (n: number) => string, header = 'user_id,plan,city') =>
  `${header}\n${users.map((user, n) => `${user},${value(n)}`).join('\n')}\n`
const stored = file((n) => `plan ${n},city ${n}`)
const swapped = file((n) => `city ${n},plan ${n}`)

/** Queues a file and runs it. Returns the import's ID. */
async function check(content: string, holdIf: HoldIf, options: { keepChanges?: boolean; dryRun?: boolean } = {}) {
  const importId = await app.queue(content, 'text/csv', options.dryRun, { ...options, holdIf })
  const { outcome } = await app.run(importId)
  return { importId, outcome, ...(await app.resultOf(importId)) }
}

const mailEvents = async (importId: string) => {
  const { rows } = await sql<{ subject: string }>`
    select subject from mails where event like ${`import:${importId}%`} order by created_at
  `.execute(app.db)
  return rows.map(({ subject }) => subject.split(/:| · /)[0])
}
const rowOf = (importId: string) =>
  app.db.selectFrom('imports').selectAll().where('import_id', '=', importId).executeTakeFirstOrThrow()
const approve = (importId: string) => approveImport(app.db, { appId: app.appId, importId })
const cancel = (importId: string) => cancelImport(app.db, { appId: app.appId, importId })
const refusalOfUndo = (importId: string) =>
  undoImport(app.context, { appId: app.appId, importId }).catch((error: Error) => error.message)

// changes.md §2, The check.
describe('the check', () => {
  // changes.md §2, Held.
  test('swapped columns change nothing, and an approval applies them', async () => {
    await app.importFile(stored)
    const before = await app.profiles()
    const held = await check(swapped, { changed_percent: 20 })
    expect(held.outcome).toBe('held')
    expect(held.view).toMatchObject({
      ...{ state: 'held', rows_total: 10, rows_applied: 0, rows_failed: 0, finished_at: null },
      changes: { rows: { created: 0, changed: 10 }, values: { added: 0, changed: 20, removed: 0 } },
      held: { reasons: ['changed_percent is 100, over 20'], until: expect.stringMatching(/Z$/) },
    })
    expect(await app.profiles()).toEqual(before)
    expect(await approve(held.importId)).toEqual({ outcome: 'approved' })
    expect((await app.resultOf(held.importId)).view).toMatchObject({ state: 'queued', rows_total: 0, held: null })
    await app.run(held.importId)
    expect((await app.resultOf(held.importId)).view).toMatchObject({
      ...{ state: 'completed', rows_total: 10, rows_applied: 10, rows_changed: 10, changes: null, held: null },
    })
    expect((await app.profiles()).u3).toEqual({ plan: 'city 3', city: 'plan 3' })
  })

  test('without a reason the import is applied at once, and its view is that of an import without bounds', async () => {
    const content = file((n) => (n === 4 ? 'x,y,z' : `plan ${n},${n}`))
    const plain = await app.importFile(content, { keepChanges: true })
    await sql`delete from profiles`.execute(app.db)
    await sql`delete from profile_keys`.execute(app.db)
    const checked = await check(content, { failed_percent: 10, changed_percent: 0, new_keys: 2 }, { keepChanges: true })
    const own = { import_id: '', requested_at: '', started_at: '', finished_at: '' }
    const links = { error_file_url: '', changes_file_url: '' }
    expect(checked.outcome).toBe('completed')
    expect({ ...checked.view, ...own, ...links }).toEqual({ ...plain.view, ...own, ...links })
    expect(checked.errorFile).toEqual(plain.errorFile)
    expect(checked.changesFile).toBe(plain.changesFile)
    expect(await rowOf(checked.importId)).toMatchObject({ error_counts: { 'too many values': 1 }, error_bytes: 0 })
    expect(await mailEvents(checked.importId)).toHaveLength(1)
  })

  const removed = (many: number) => file((n) => (n < many ? '#,' : ','))
  test.each([
    {
      bound: { failed_percent: 10 },
      at: file((n) => (n < 1 ? 'a,b,c' : ',')),
      above: file((n) => (n < 2 ? 'a,b,c' : ',')),
    },
    {
      bound: { changed_percent: 10 },
      at: file((n) => (n < 1 ? 'new,' : ',')),
      above: file((n) => (n < 2 ? 'new,' : ',')),
    },
    { bound: { removed_percent: 10 }, at: removed(1), above: removed(2) },
    { bound: { changed_percent: 10 }, at: removed(1), above: removed(2) },
    {
      bound: { new_keys: 1 },
      at: file((n) => `${n}`, 'user_id,a'),
      above: file((n) => `${n},${n === 9 ? 1 : ''}`, 'user_id,a,b'),
    },
  ])('an import is held above $bound, and not at it', async ({ bound, at, above }) => {
    await app.importFile(stored)
    const run = async (content: string) => {
      const importId = await app.queue(content, 'text/csv', false, { holdIf: bound, clearMarker: '#' })
      return await app.run(importId)
    }
    const keys = await app.db.selectFrom('profile_keys').select('key').execute()
    expect(await run(above)).toMatchObject({ outcome: 'held' })
    expect(await app.db.selectFrom('profile_keys').select('key').execute()).toEqual(keys)
    await cancel((await dispatchable('held')) ?? '')
    expect(await run(at)).toMatchObject({ outcome: 'completed' })
  })
  const dispatchable = async (state: 'held') =>
    (await app.db.selectFrom('imports').select('import_id').where('state', '=', state).executeTakeFirst())?.import_id

  test('the default of the app holds imports of every route, as it was at the time of the request', async () => {
    await setImportDefaults(app.db, app.appId, { hold_if: 'always' })
    const bytes = Buffer.from('user_id,a\nu1,1\n')
    const byteSize = bytes.length
    const context = { ...app.context, settings: { ...app.context.settings, API_UPLOAD_TIMEOUT: 60_000 } }
    const body = { contentType: 'text/csv', byteSize, content: Readable.from([bytes]) } as const
    const v2 = await receiveV2File(context, app.appId, body)
    const form = { byteSize, bytes: Readable.from([bytes]), longestMs: 60_000 }
    const dashboard = await receiveDashboardFile(context, app.appId, form)
    const bucket = crypto.randomUUID()
    const objectKey = uploadKey(app.appId, bucket)
    await app.storage.write(objectKey, bytes, 'text/csv')
    await queueStoredFile(app.db, {
      ...{ appId: app.appId, importId: bucket, objectKey, source: 'bucket', contentType: 'text/csv', checksum: null },
      ...{ etag: (await app.storage.stat(objectKey))?.etag ?? '', byteSize, fileName: 'a.csv', dataOrder: 1 },
      ...{ sentAt: new Date().toISOString(), uploadHash: null, signatureHash: null },
    })
    await setImportDefaults(app.db, app.appId, { hold_if: 'never' })
    for (const importId of ['importId' in v2 ? v2.importId : '', dashboard ?? '', bucket]) {
      expect(await app.run(importId)).toMatchObject({ outcome: 'held' })
      await cancel(importId)
    }
    expect(await app.run(await app.queue(bytes))).toMatchObject({ outcome: 'completed' })
  })

  // changes.md §2, Held.
  test('a dry run shows why an import would be held, and completes', async () => {
    const dryRun = await check(stored, { new_keys: 1, failed_percent: 0 }, { dryRun: true })
    expect(dryRun.view).toMatchObject({ state: 'completed', held: { reasons: ['new_keys is 2, over 1'], until: null } })
    expect((await check(stored, { new_keys: 2 }, { dryRun: true })).view.held).toBeNull()
  })

  test('a file that is refused fails as usual, and has changed nothing', async () => {
    const { view } = await check(`${stored}u1,"`, 'always')
    expect(view).toMatchObject({ state: 'held', rows_total: 11, rows_failed: 1 })
    await cancel(view.import_id)
    const damaged = await app.queue(`user_id,plan\n${'u1,a\n'.repeat(8)}`, 'text/csv', false, {
      holdIf: 'always',
      keepChanges: true,
    })
    const settings = { ...app.context.settings, UNCOMPRESSED_LIMIT: 30 }
    expect(await app.run(damaged, { settings })).toMatchObject({ outcome: 'failed' })
    const failed = await app.resultOf(damaged)
    expect(failed.view).toMatchObject({ state: 'failed', rows_applied: 0, rows_changed: 0, changes_file_url: null })
    expect(failed.view.changes?.rows).toEqual({ created: 0, changed: 0 })
    expect(await refusalOfUndo(damaged)).toBe('the import kept no changes')
    expect(Object.values(await app.profiles()).flatMap(Object.keys)).toEqual([])
  })

  test('a worker that is replaced in the check or after it loses and repeats nothing', async () => {
    const importId = await app.queue(stored, 'text/csv', false, { holdIf: { new_keys: 2 }, keepChanges: true })
    const settings = { ...app.context.settings, BATCH_ROWS: 1 }
    let [runs, state] = [0, 'queued']
    for (; state === 'queued'; runs++) {
      const stop = new AbortController()
      let batches = 0
      const onBatch = () => ++batches === 2 && stop.abort()
      await runImport({ ...app.context, settings, onBatch }, await app.claim(importId), stop.signal)
      const row = await rowOf(importId)
      state = row.state
      if (state === 'queued') expect(row.holds_order).toBe(true)
    }
    // A run commits at most five batches, of 10 in the check and 10 after it.
    expect(runs).toBeGreaterThanOrEqual(4)
    const { view, changesFile } = await app.resultOf(importId)
    expect(view).toMatchObject({ state: 'completed', rows_total: 10, rows_applied: 10, rows_changed: 10 })
    expect(view.changes?.values.added).toBe(20)
    expect(changesFile?.split('\n')).toHaveLength(22)
  })

  test('an import that a worker gives back between check and first row is applied from its first row', async () => {
    const importId = await app.queue(stored, 'text/csv', false, { holdIf: { new_keys: 2 } })
    const claim = await app.claim(importId)
    const storage = {
      ...app.storage,
      async read(...of: Parameters<typeof app.storage.read>) {
        if ((await rowOf(importId)).check_passed) throw new Error('no answer')
        return await app.storage.read(...of)
      },
    }
    expect(await app.run(claim, { storage })).toEqual({ outcome: 'postponed' })
    expect(await rowOf(importId)).toMatchObject({ check_passed: true, position: 0, rows_total: 0, holds_order: true })
    await endPause(app.db, importId)
    await app.run(importId)
    expect((await app.resultOf(importId)).view).toMatchObject({ state: 'completed', rows_total: 10, rows_applied: 10 })
  })
})

// changes.md §2, Held; changes.md §2, The decision.
describe('a held import', () => {
  test('later imports of the app wait, dry runs do not, and it is not runnable', async () => {
    const { importId } = await check(stored, 'always')
    const later = await app.queue(swapped)
    const dryRun = await app.queue(swapped, 'text/csv', true)
    const dispatched = async () => (await dispatchNextInOrder(app.context)).map((next) => next.importId)
    expect(await dispatched()).toEqual([dryRun])
    expect(await app.tryToClaim(later)).toBeUndefined()
    await cancel(dryRun)
    const { rows } = await sql<{ runnable: number }>`select runnable_imports() as runnable`.execute(app.db)
    expect(rows).toEqual([{ runnable: 0 }])
    await approve(importId)
    expect(await dispatched()).toEqual([importId])
    expect(await app.tryToClaim(later)).toBeUndefined()
    await app.run(importId)
    await app.run(later)
    expect((await app.profiles()).u2).toEqual({ plan: 'city 2', city: 'plan 2' })
  })

  test('of two approvals at once one is refused', async () => {
    const { importId } = await check(stored, 'always')
    const answers = await Promise.all([approve(importId), approve(importId)])
    expect(answers.map(({ outcome }) => outcome).sort()).toEqual(['approved', 'not held'])
    expect(await approveImport(app.db, { appId: app.appId + 1, importId })).toEqual({ outcome: 'unknown' })
    expect(await approve('x')).toEqual({ outcome: 'unknown' })
  })

  test('of an approval and a cancellation at once, the import keeps what the later one left', async () => {
    for (let tries = 0; tries < 20; tries++) {
      const { importId } = await check('user_id,a\nu1,1\n', 'always')
      const both = [() => approve(importId), () => cancel(importId)]
      const [first, second] = await Promise.all((tries % 2 === 0 ? both : both.toReversed()).map((each) => each()))
      const approval = tries % 2 === 0 ? first : second
      // An approved import is queued, so it can still be cancelled; a cancelled one cannot be approved.
      expect((await app.resultOf(importId)).view.state).toBe('cancelled')
      if (approval?.outcome !== 'approved') expect(approval).toEqual({ outcome: 'not held', state: 'cancelled' })
    }
    expect(Object.values(await app.profiles()).flatMap(Object.keys)).toEqual([])
  })

  test.each(['held', 'in its check'])('cancelling it %s leaves no changes, and its errors', async (when) => {
    const content = file((n) => (n === 0 ? 'a,b,c' : `plan ${n},x`))
    const importId = await app.queue(content, 'text/csv', false, { holdIf: 'always', keepChanges: true })
    const claim = await app.claim(importId)
    let batches = 0
    const stop = new AbortController()
    if (when === 'held') await app.run(claim)
    else await runImport({ ...app.context, onBatch: () => ++batches === 2 && stop.abort() }, claim, stop.signal)
    const heldFile = (await app.resultOf(importId)).view.error_file_url
    expect(heldFile === null).toBe(when !== 'held')
    await cancel(importId)
    const expected = {
      ...{ state: 'cancelled', rows_applied: 0, rows_failed: 1, rows_changed: 0, changes_file_url: null, held: null },
      changes: { rows: { created: 0, changed: 0 }, values: { added: 0, changed: 0, removed: 0 }, keys: {} },
    }
    expect((await app.resultOf(importId)).view).toMatchObject(expected)
    await reportCancelled(app.context)
    const { view, errorFile } = await app.resultOf(importId)
    expect(view).toMatchObject(expected)
    expect(view.rows_total).toBeGreaterThanOrEqual(when === 'held' ? 10 : 6)
    expect(errorFile?.toString()).toContain('too many values,u0,a,b,c')
    if (when === 'held') expect(view.error_file_url).toBe(heldFile)
    expect(await mailEvents(importId)).toEqual([
      ...(when === 'held' ? ['Profile import held for approval'] : []),
      'Profile import cancelled',
    ])
    expect(await refusalOfUndo(importId)).toBe('the import kept no changes')
    const retry = await retryImport(app.context, { appId: app.appId, importId })
    expect(await app.run(retry)).toMatchObject({ outcome: 'held' })
    expect(await rowOf(retry)).toMatchObject({ keep_changes: true, hold_if: 'always' })
  })

  test('fails if nobody approves it within the limit, also while its app is paused', async () => {
    const { importId, view } = await check(
      file((n) => (n === 0 ? 'a,b,c' : ',')),
      'always',
      { keepChanges: true },
    )
    expect(view.changes_file_url).not.toBeNull()
    const { held_at: heldAt, held_until: until } = await rowOf(importId)
    expect(Number(until) - Number(heldAt)).toBe(2 * 60 * 60_000)
    await sql`update apps set paused_at = now()`.execute(app.db)
    await reportCancelled(app.context)
    expect((await app.resultOf(importId)).view.state).toBe('held')
    await sql`update imports set held_until = now()`.execute(app.db)
    await reportCancelled(app.context)
    const ended = await app.resultOf(importId)
    expect(ended.view).toMatchObject({
      ...{ state: 'failed', error: 'held for 2h without approval', held: null, finished_at: expect.anything() },
      ...{ rows_total: 10, rows_failed: 1, rows_changed: 0, changes_file_url: null },
    })
    expect(ended.errorFile?.toString()).toContain('too many values')
    expect(await mailEvents(importId)).toEqual(['Profile import held for approval', 'Profile import failed'])
    expect(await approve(importId)).toEqual({ outcome: 'not held', state: 'failed' })
  })

  test('the import of a dry run’s file is checked as well', async () => {
    const { importId } = await check(stored, { new_keys: 0 }, { dryRun: true })
    const requestedBy = 'member@example.com'
    const imported = await importCheckedFile(app.context, { appId: app.appId, importId }, { requestedBy })
    expect(await app.run(imported)).toMatchObject({ outcome: 'held' })
  })
})
