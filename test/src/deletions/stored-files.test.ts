import {
  approveImport,
  cancelImport,
  followFileLink,
  removeOldFiles,
  reportCancelled,
  runImport,
  showImport,
} from '@sluice/imports'
import { describe, expect, test } from 'vitest'
import { openBeforeEach } from '../environment/opened.ts'
import { claim, importFile, openApp, profilesOf, queueFile, resultOf } from '../imports/import-fixture.ts'
import { mailEvents, openDeletionFixture, request, runAt, schedule } from './deletion-fixture.ts'

const { accepted, beforeCompletion, completion, mail } = schedule

const fixture = openBeforeEach(openDeletionFixture)

const storedKeys = async (appId: number) => {
  const imports = await fixture.database.db
    .selectFrom('imports')
    .select('object_key')
    .where('app_id', '=', appId)
    .execute()
  const stats = await Promise.all(imports.map(({ object_key }) => fixture.storage.stat(object_key)))
  return imports.filter((_, index) => stats[index] !== undefined).map(({ object_key }) => object_key)
}

// design.md §3, Deleting.
describe('stored files', () => {
  test('of ended imports are removed, upload and error file, and the link to the error file has expired', async () => {
    const appId = await openApp(fixture, ['alice', 'bob'])
    const { view: ended, errorFile } = await importFile(fixture, appId, 'user_id,age\nalice,1\nghost,2\n')
    expect(errorFile).toBeDefined()
    const token = ended.error_file_url?.split('/').at(-1) ?? ''
    await request(fixture, appId, ['bob'], accepted)
    await runAt(fixture, beforeCompletion)
    expect(await storedKeys(appId)).toHaveLength(1)
    await runAt(fixture, completion)
    expect(await storedKeys(appId)).toEqual([])
    expect(await followFileLink({ db: fixture.database.db, storage: fixture.storage }, 'errors', token)).toBe('expired')
    expect(
      await showImport(fixture.database.db, 'http://api.test', { appId: 'any', importId: ended.import_id }),
    ).toMatchObject({
      state: 'completed',
      error_file_url: null,
    })
  })

  // changes.md §2, The decision.
  test('of the check of a held import are removed, and an approval has its file checked again', async () => {
    const appId = await openApp(fixture, ['alice', 'bob'])
    const { db } = fixture.database
    const options = { holdIf: 'always', keepChanges: true } as const
    const file = 'user_id,zip\nalice,007\nghost,2\nbob,3\n'
    const importId = await queueFile(fixture, appId, file, 'text/csv', false, options)
    const run = async () =>
      await runImport(fixture.context, await claim(fixture, appId, importId), new AbortController().signal)
    expect(await run()).toMatchObject({ outcome: 'held' })
    const held = await resultOf(fixture, appId, importId)
    expect(held.changesFile).toContain('alice,zip,int,,7')
    expect(held.view.warnings).toHaveLength(1)
    const tokens = [held.view.error_file_url, held.view.changes_file_url].map((url) => url?.split('/').at(-1) ?? '')
    await request(fixture, appId, ['alice'], accepted)
    await runAt(fixture, completion)
    const link = (file: 'errors' | 'changes', token = '') =>
      followFileLink({ db, storage: fixture.storage }, file, token)
    expect(await Promise.all([link('errors', tokens[0]), link('changes', tokens[1])])).toEqual(['unknown', 'unknown'])
    const prefix = `apps/${appId}/imports/${importId}/`
    const keys: string[] = []
    for await (const page of fixture.storage.list(prefix)) keys.push(...page.map(({ key }) => key))
    expect(keys).toEqual([`${prefix}upload`])
    const without = await resultOf(fixture, appId, importId)
    const files = { error_file_url: null, changes_file_url: null, warnings: [] }
    expect(without.view).toMatchObject({ state: 'held', rows_total: 3, held: held.view.held, ...files })
    const mails = await db.selectFrom('mails').select('text').where('event', 'like', `import:${importId}%`).execute()
    expect(mails).toEqual([{ text: expect.stringContaining('The details of this mail were removed.') }])
    await approveImport(db, { appId, importId })
    expect(await run()).toMatchObject({ outcome: 'held' })
    const again = await resultOf(fixture, appId, importId)
    expect(again.view.changes?.values.added).toBe(1)
    expect(`${again.changesFile}${again.errorFile}`).not.toContain('alice')
    await approveImport(db, { appId, importId })
    expect(await run()).toMatchObject({ outcome: 'completed' })
    expect(await profilesOf(fixture, appId)).toEqual({ bob: { zip: 3 } })
  })

  test('of cancelled imports are removed, at once or when they are reported', async () => {
    const appId = await openApp(fixture, ['alice'])
    const cancel = async () => {
      const importId = await queueFile(fixture, appId, 'user_id,age\nalice,1\n')
      await cancelImport(fixture.database.db, { appId, importId })
      return `apps/${appId}/imports/${importId}/upload`
    }
    await cancel()
    await reportCancelled(fixture.context)
    const unreported = await cancel()
    await request(fixture, appId, ['alice'], accepted)
    await runAt(fixture, completion)
    expect(await storedKeys(appId)).toEqual([unreported])
    await reportCancelled(fixture.context)
    await removeOldFiles(fixture.context)
    expect(await storedKeys(appId)).toEqual([])
  })

  test('lose their names and warnings as well: files removed before, files removed now, and files of imports that end later', async () => {
    const { db } = fixture.database
    const appId = await openApp(fixture, ['alice', 'bob'])
    const warnings = JSON.stringify([{ key: 'zip', type: 'int', message: 'alice', examples: ['alice'] }])
    const name = (importId: string) =>
      db.updateTable('imports').set({ file_name: 'alice.csv', warnings }).where('import_id', '=', importId).execute()
    const tracesOf = async (importId: string) => {
      const query = db.selectFrom('imports').select(['file_name', 'warnings']).where('import_id', '=', importId)
      const row = await query.executeTakeFirstOrThrow()
      return { name: row.file_name, warnings: row.warnings.length }
    }
    const kept = { name: 'alice.csv', warnings: 1 }
    const forgotten = { name: null, warnings: 0 }
    const upload = 'user_id,age\nbob,1\n'
    const ended = async () => {
      const { view } = await importFile(fixture, appId, upload)
      await name(view.import_id)
      return view.import_id
    }
    const before = await ended()
    await removeOldFiles({ ...fixture.context, settings: { ...fixture.context.settings, FILE_RETENTION_DAYS: 0 } })
    expect(await tracesOf(before)).toEqual(kept)
    const now = await ended()
    const later = await queueFile(fixture, appId, upload)
    await name(later)
    await request(fixture, appId, ['alice'], accepted)
    await runAt(fixture, completion)
    expect([await tracesOf(before), await tracesOf(now), await tracesOf(later)]).toEqual([forgotten, forgotten, kept])

    await runImport(fixture.context, await claim(fixture, appId, later), new AbortController().signal)
    await removeOldFiles(fixture.context)
    expect(await tracesOf(later)).toEqual(forgotten)
    // A file that is sent afterwards keeps its name, also when it is removed after its retention.
    const after = await ended()
    await removeOldFiles({ ...fixture.context, settings: { ...fixture.context.settings, FILE_RETENTION_DAYS: 0 } })
    expect(await tracesOf(after)).toEqual(kept)
  })

  test('that storage does not remove delay only the mail: the next run removes them and sends it', async () => {
    const appId = await openApp(fixture, ['alice'])
    await importFile(fixture, appId, 'user_id,age\nalice,1\n')
    await request(fixture, appId, ['alice'], accepted)
    const other = await openApp(fixture, ['carl'])
    await request(fixture, other, ['carl'], '2100-03-02T00:00:00Z')
    const storage = { ...fixture.storage, removeAll: () => Promise.reject(new Error('storage is away')) }
    await expect(runAt(fixture, completion, { storage })).rejects.toThrow('not complete')
    expect(await profilesOf(fixture, appId)).toEqual({})
    expect(await mailEvents(fixture, appId)).toEqual([])
    expect(await mailEvents(fixture, other)).toEqual([mail])
    await runAt(fixture, completion)
    expect(await storedKeys(appId)).toEqual([])
    expect(await mailEvents(fixture, appId)).toEqual([mail])
  })
})

describe('mails of a catch-up that an outage of storage interrupts', () => {
  const late = '2100-12-24T00:00:00Z'
  const failing = (times: number) => {
    let left = times
    const removeAll = (prefix: string) =>
      left-- > 0 ? Promise.reject(new Error('storage is away')) : fixture.storage.removeAll(prefix)
    return { ...fixture.storage, removeAll }
  }

  test('are sent for each date, once its files are removed', async () => {
    const appId = await openApp(fixture, ['a', 'b'])
    await importFile(fixture, appId, 'user_id,age\na,1\n')
    await request(fixture, appId, ['a'], accepted)
    await request(fixture, appId, ['b'], '2100-04-05T00:00:00Z')
    await expect(runAt(fixture, late, { storage: failing(2) })).rejects.toThrow('not complete')
    expect(await profilesOf(fixture, appId)).toEqual({})
    expect(await mailEvents(fixture, appId)).toEqual([])
    await runAt(fixture, late)
    expect(await mailEvents(fixture, appId)).toEqual([mail, 'deletion:2100-05-07T00:00:00.000Z'])
  })

  test('are not sent for a date on which nobody was left to delete', async () => {
    const appId = await openApp(fixture, ['a'])
    await importFile(fixture, appId, 'user_id,age\na,1\n')
    await request(fixture, appId, ['a'], accepted)
    await request(fixture, appId, ['a'], '2100-04-05T00:00:00Z')
    await expect(runAt(fixture, late, { storage: failing(1) })).rejects.toThrow('not complete')
    await runAt(fixture, late)
    expect(await mailEvents(fixture, appId)).toEqual([mail])
  })
})

describe('an import that runs when a deletion completes', () => {
  test('neither fails nor restores a user; its files are removed when it has ended', async () => {
    const users = Array.from({ length: 40 }, (_, index) => `user-${index}`)
    const appId = await openApp(fixture, users)
    const rows = [...users, ...users].map((user, index) => `${user},${index}\n`).join('')
    const importId = await queueFile(fixture, appId, `user_id,age\n${rows}`)
    const waiting = await queueFile(fixture, appId, 'user_id,age\nuser-39,7\n')
    await request(fixture, appId, users.slice(0, 20), accepted)
    const claimed = await claim(fixture, appId, importId)
    const settings = { ...fixture.context.settings, BATCH_ROWS: 1 }
    const importing = runImport({ ...fixture.context, settings }, claimed, new AbortController().signal)
    await runAt(fixture, completion)
    expect(await importing).toMatchObject({ outcome: 'completed' })

    expect(Object.keys(await profilesOf(fixture, appId)).toSorted()).toEqual(users.slice(20).toSorted())
    const { view: ended } = await resultOf(fixture, appId, importId)
    expect(ended).toMatchObject({ state: 'completed', rows_total: 80 })
    expect(ended.rows_failed).toBeLessThanOrEqual(40)
    expect(await mailEvents(fixture, appId)).toEqual([mail])
    await runImport(fixture.context, await claim(fixture, appId, waiting), new AbortController().signal)
    await removeOldFiles(fixture.context)
    expect(await storedKeys(appId)).toEqual([])
  })
})
