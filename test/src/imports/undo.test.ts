import { readSettings } from '@sluice/config'
import { sql } from '@sluice/database'
import { deletionSettings } from '@sluice/deletions'
import { cancelImport, reportCancelled, runImport, showImport, undoImport } from '@sluice/imports'
import { registerUsers } from '@sluice/profiles'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { request, runAt, schedule } from '../deletions/deletion-fixture.ts'
import { openBeforeAll } from '../environment/opened.ts'
import { propertyRuns } from '../environment/property-runs.ts'
import { fileOf, options, someRows, users } from './changed-files.ts'
import { endLease } from './forced-states.ts'
import {
  claim,
  type ImportFixture,
  importFile,
  openApp,
  openImportFixture,
  profilesOf,
  type Result,
  resultOf,
} from './import-fixture.ts'

// Undo: an import that takes back what another one changed.
const fixture = openBeforeAll(() => openImportFixture({ BATCH_ROWS: '4' }))

async function undo(appId: number, importId: string, dryRun = false): Promise<Result> {
  const undoId = await undoImport(fixture.context, { appId, importId }, { dryRun })
  await runImport(fixture.context, await claim(fixture, appId, undoId), new AbortController().signal)
  return await resultOf(fixture, appId, undoId)
}
const keep = { keepChanges: true }
const refusal = async (appId: number, importId: string) =>
  await undoImport(fixture.context, { appId, importId }).then(
    () => undefined,
    (error: Error) => error.message,
  )

// changes.md §3, What it does.
test('an import and its undo leave what was before, and so does the undo of the undo', async () => {
  await fc.assert(
    fc.asyncProperty(someRows, someRows, async (earlier, rows) => {
      const appId = await openApp(fixture, users)
      await importFile(fixture, appId, fileOf(earlier), options)
      const before = await profilesOf(fixture, appId)
      const imported = await importFile(fixture, appId, fileOf(rows), options)
      const after = await profilesOf(fixture, appId)
      const dryRun = await undo(appId, imported.view.import_id, true)
      const undone = await undo(appId, imported.view.import_id)
      expect(undone.view).toMatchObject({ state: 'completed', rows_failed: 0, source: 'undo' })
      expect(dryRun.view.changes).toEqual(undone.view.changes)
      expect(dryRun.changesFile).toBe(undone.changesFile)
      expect(withoutEmpty(await profilesOf(fixture, appId))).toEqual(withoutEmpty(before))
      const again = await undo(appId, undone.view.import_id)
      expect(again.view).toMatchObject({ state: 'completed', rows_failed: 0 })
      expect(withoutEmpty(await profilesOf(fixture, appId))).toEqual(withoutEmpty(after))
    }),
    { numRuns: propertyRuns(60) },
  )
})

const withoutEmpty = (profiles: Awaited<ReturnType<typeof profilesOf>>) =>
  Object.fromEntries(Object.entries(profiles).filter(([, values]) => Object.keys(values).length > 0))

// changes.md §3, What it does.
test('values that changed since stay and are reported with their last line; restored ones are left alone', async () => {
  const appId = await openApp(fixture, ['u1', 'u2', 'u3'])
  await importFile(fixture, appId, 'user_id,plan,n\nu1,a,1\nu2,a,1\nu3,a,1\n')
  const { view } = await importFile(fixture, appId, 'user_id,plan,n\nu1,b,2\nu1,c,2\nu2,b,2\nu3,b,2\n', keep)
  await importFile(fixture, appId, 'user_id,plan\nu1,other\nu3,a\n')
  const undone = await undo(appId, view.import_id)
  expect(await profilesOf(fixture, appId)).toEqual({
    u1: { plan: 'other', n: 1 },
    u2: { plan: 'a', n: 1 },
    u3: { plan: 'a', n: 1 },
  })
  expect(undone.errorFile?.toString()).toBe(
    'SERVICE_ERRORS,user_id,key,type,before,after\nplan was changed since,u1,plan,string,b,c\n',
  )
  expect(undone.view).toMatchObject({ rows_total: 7, rows_applied: 6, rows_failed: 1, undo_of: view.import_id })
})

test('a changes file that is loaded and undone in several transactions is undone whole, with users who come twice', async () => {
  const ids = Array.from({ length: 2_500 }, (_, number) => `user-${number}`)
  const appId = await openApp(fixture, ids)
  const { context } = fixture
  const large = { ...fixture, context: { ...context, settings: { ...context.settings, BATCH_ROWS: 1_000 } } }
  await importFile(large, appId, `user_id,plan\n${ids.map((id) => `${id},"old ""${id}"""\n`).join('')}`)
  const before = await profilesOf(fixture, appId)
  const rows = [...ids, ...ids.slice(0, 500)].map((id, number) => `${id},new,${number}\n`)
  const { view } = await importFile(large, appId, `user_id,plan,n\n${rows.join('')}`, keep)
  const undone = await undo(appId, view.import_id)
  // The second row of a user changes n alone.
  expect(undone.view).toMatchObject({ rows_total: 5_500, rows_failed: 0, rows_changed: 2_500 })
  expect(await profilesOf(fixture, appId)).toEqual(before)
})

// design.md §4, Bounded memory.
test('however many values a user has, no transaction of an undo has over 10,000 lines and those of one user', async () => {
  const ids = Array.from({ length: 300 }, (_, number) => `user-${number}`)
  const keys = Array.from({ length: 50 }, (_, number) => `key${number}`)
  const appId = await openApp(fixture, ids)
  const file = `user_id,${keys.join(',')}\n${ids.map((id) => `${id},${keys.join(',')}\n`).join('')}`
  const { view } = await importFile(fixture, appId, file, keep)
  const undoId = await undoImport(fixture.context, { appId, importId: view.import_id })
  const lines: number[] = []
  const context = { ...fixture.context, onBatch: ({ rowsApplied }: { rowsApplied: number }) => lines.push(rowsApplied) }
  await runImport(context, await claim(fixture, appId, undoId), new AbortController().signal)
  expect(lines).toEqual([10_000, 5_000])
})

// changes.md §3, What it does.
test('rows that an undo took back are applied again by the same file', async () => {
  const appId = await openApp(fixture, ['u1'])
  const file = 'user_id,plan\nu1,a\n'
  const { view } = await importFile(fixture, appId, file, keep)
  await undo(appId, view.import_id)
  await importFile(fixture, appId, file)
  expect(await profilesOf(fixture, appId)).toEqual({ u1: { plan: 'a' } })
})

// changes.md §3, Allowed.
test('only what an ended import kept can be undone, and only once', async () => {
  const appId = await openApp(fixture, ['u1', 'u2'])
  const file = (value: number) => `user_id,n\nu1,${value}\nu2,${value}\n`
  const kept = await importFile(fixture, appId, file(1), keep)
  const dryRun = await importFile(fixture, appId, file(2), { ...keep, dryRun: true })
  const without = await importFile(fixture, appId, file(3))
  expect(await refusal(appId, without.view.import_id)).toBe('the import kept no changes')
  expect(await refusal(appId, dryRun.view.import_id)).toBe('a dry run changed nothing')
  const settings = { ...fixture.context.settings, CHANGES_FILE_LIMIT: 50 }
  const limited = { ...fixture, context: { ...fixture.context, settings } }
  const cut = await importFile(limited, appId, file(4), keep)
  expect(await refusal(appId, cut.view.import_id)).toBe('its changes file ends before row 2')

  const { import_id: importId } = kept.view
  const waiting = await undoImport(fixture.context, { appId, importId })
  expect(await refusal(appId, importId)).toBe(`it is already undone by ${waiting}`)
  expect(await refusal(appId, waiting)).toBe('it has not ended')
  await runImport(fixture.context, await claim(fixture, appId, waiting), new AbortController().signal)
  expect(await refusal(appId, importId)).toBe(`it is already undone by ${waiting}`)
  await undo(appId, waiting)
  expect(await refusal(appId, importId)).toBeUndefined()
})

// changes.md §3, Allowed.
test('an undo fails if the changes file was removed after the request', async () => {
  const appId = await openApp(fixture, ['u1'])
  const { view } = await importFile(fixture, appId, 'user_id,n\nu1,1\n', keep)
  const undoId = await undoImport(fixture.context, { appId, importId: view.import_id })
  await fixture.storage.removeAll(`apps/${appId}/imports/${view.import_id}/`)
  await runImport(fixture.context, await claim(fixture, appId, undoId), new AbortController().signal)
  expect(await showImport(fixture.database.db, undefined, { appId: 'any', importId: undoId })).toMatchObject({
    state: 'failed',
    error: 'the changes file was removed',
  })
})

describe('no undo brings back a value of a user whose deletion has completed, also if the user is registered again', () => {
  /** Clears values of users, queues the undo, deletes a user meanwhile, and registers the user again. */
  async function deleteMeanwhile(changes: { storage?: ImportFixture['storage'] } = {}) {
    const appId = await openApp(fixture, ['u1', 'u2'])
    await importFile(fixture, appId, 'user_id,n\nu1,1\nu2,2\n')
    const { view } = await importFile(fixture, appId, 'user_id,n\nu1,#\nu2,#\n', { ...keep, clearMarker: '#' })
    const waiting = await undoImport(fixture.context, { appId, importId: view.import_id })
    const deletions = { ...fixture.context, settings: readSettings({}, deletionSettings) }
    await request({ ...fixture, deletions }, appId, ['u1'], schedule.accepted)
    const deletion = runAt({ ...fixture, deletions }, schedule.completion, changes)
    await (changes.storage === undefined ? deletion : expect(deletion).rejects.toThrow('deletions are not complete'))
    await registerUsers(fixture.database.db, appId, ['u1'])
    return { appId, importId: view.import_id, waiting }
  }

  async function expectRefusal({ appId, importId, waiting }: Awaited<ReturnType<typeof deleteMeanwhile>>) {
    await runImport(fixture.context, await claim(fixture, appId, waiting), new AbortController().signal)
    const { view, errorFile } = await resultOf(fixture, appId, waiting)
    expect(view).toMatchObject({ state: 'failed', error: 'the changes file was removed' })
    expect(errorFile).toBeUndefined()
    expect(await refusal(appId, importId)).toBe('its changes file was removed')
    expect(withoutEmpty(await profilesOf(fixture, appId))).toEqual({})
  }

  test('and the changes file is removed', async () => {
    await expectRefusal(await deleteMeanwhile())
  })

  test('and storage does not remove the changes file yet', async () => {
    const storage = { ...fixture.storage, removeAll: () => Promise.reject(new Error('storage is away')) }
    await expectRefusal(await deleteMeanwhile({ storage }))
  })
})

// changes.md §3, Allowed.
test('an undo that is cancelled, or whose worker wakes up after its successor has ended it, leaves no lines', async () => {
  const appId = await openApp(fixture, ['u1'])
  const { db } = fixture.database
  const lines = () => db.selectFrom('undo_lines').select('line').where('app_id', '=', appId).execute()
  const { view } = await importFile(fixture, appId, 'user_id,n\nu1,1\n', keep)
  const cancelled = await undoImport(fixture.context, { appId, importId: view.import_id })
  await claim(fixture, appId, cancelled)
  await sql`insert into undo_lines values (${appId}, ${cancelled}, 'u1', 1, '{n}', '{int}', '{null}', '{1}')`.execute(
    db,
  )
  await cancelImport(db, { appId, importId: cancelled })
  await reportCancelled(fixture.context)
  expect(await lines()).toEqual([])

  const undoId = await undoImport(fixture.context, { appId, importId: view.import_id })
  const sleeper = await claim(fixture, appId, undoId)
  await endLease(db, undoId)
  const ended = await runImport(fixture.context, await claim(fixture, appId, undoId), new AbortController().signal)
  expect(ended).toMatchObject({ outcome: 'completed' })
  expect(await runImport(fixture.context, sleeper, new AbortController().signal)).toEqual({ outcome: 'lost' })
  expect(await lines()).toEqual([])
})
