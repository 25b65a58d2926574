import { cancelImport, followErrorLink, removeOldFiles, reportCancelled, runImport, showImport } from '@sluice/imports'
import { beforeEach, describe, expect, test } from 'vitest'
import { claim, importFile, openApp, profilesOf, queueFile, resultOf } from '../imports/workshop.ts'
import { mailEvents, march, openYard, request, runAt, type Yard } from './yard.ts'

const { accepted, beforeCompletion, completion, mail } = march

let yard: Yard
beforeEach(async () => {
  yard = await openYard()
  return () => yard.close()
})

const storedKeys = async (appId: number) => {
  const imports = await yard.database.db
    .selectFrom('imports')
    .select('object_key')
    .where('app_id', '=', appId)
    .execute()
  const stats = await Promise.all(imports.map(({ object_key }) => yard.storage.stat(object_key)))
  return imports.filter((_, index) => stats[index] !== undefined).map(({ object_key }) => object_key)
}

describe('stored files', () => {
  test('of imports that have ended go, upload and error file, and the link to it has expired', async () => {
    const appId = await openApp(yard, ['alice', 'bob'])
    const { view: ended, errorFile } = await importFile(yard, appId, 'user_id,age\nalice,1\nghost,2\n')
    expect(errorFile).toBeDefined()
    const token = ended.error_file_url?.split('/').at(-1) ?? ''
    await request(yard, appId, ['bob'], accepted)
    await runAt(yard, beforeCompletion)
    expect(await storedKeys(appId)).toHaveLength(1)
    await runAt(yard, completion)
    expect(await storedKeys(appId)).toEqual([])
    expect(await followErrorLink(yard.database.db, yard.storage, token)).toBe('expired')
    expect(await showImport(yard.database.db, 'http://api.test', ended.import_id)).toMatchObject({
      state: 'completed',
      error_file_url: null,
    })
  })

  test('of imports that were cancelled go, at once or when they are reported', async () => {
    const appId = await openApp(yard, ['alice'])
    const cancel = async () => {
      const importId = await queueFile(yard, appId, 'user_id,age\nalice,1\n')
      await cancelImport(yard.database.db, importId)
      return `apps/${appId}/imports/${importId}/upload`
    }
    await cancel()
    await reportCancelled(yard.context)
    const unreported = await cancel()
    await request(yard, appId, ['alice'], accepted)
    await runAt(yard, completion)
    expect(await storedKeys(appId)).toEqual([unreported])
    await reportCancelled(yard.context)
    await removeOldFiles(yard.context)
    expect(await storedKeys(appId)).toEqual([])
  })

  test('lose their names as well: those removed before, those that go now, and those of imports that end later', async () => {
    const { db } = yard.database
    const appId = await openApp(yard, ['alice', 'bob'])
    const name = (importId: string) =>
      db.updateTable('imports').set({ file_name: 'alice.csv' }).where('import_id', '=', importId).execute()
    const nameOf = async (importId: string) =>
      (await db.selectFrom('imports').select('file_name').where('import_id', '=', importId).executeTakeFirst())
        ?.file_name
    const upload = 'user_id,age\nbob,1\n'
    const ended = async () => {
      const { view } = await importFile(yard, appId, upload)
      await name(view.import_id)
      return view.import_id
    }
    const before = await ended()
    await removeOldFiles({ ...yard.context, settings: { ...yard.context.settings, FILE_RETENTION_DAYS: 0 } })
    expect(await nameOf(before)).toBe('alice.csv')
    const now = await ended()
    const later = await queueFile(yard, appId, upload)
    await name(later)
    await request(yard, appId, ['alice'], accepted)
    await runAt(yard, completion)
    expect([await nameOf(before), await nameOf(now), await nameOf(later)]).toEqual([null, null, 'alice.csv'])

    await runImport(yard.context, await claim(yard, appId, later), new AbortController().signal)
    await removeOldFiles(yard.context)
    expect(await nameOf(later)).toBeNull()
    // What is sent afterwards keeps its name, also when its file goes in its own time.
    const after = await ended()
    await removeOldFiles({ ...yard.context, settings: { ...yard.context.settings, FILE_RETENTION_DAYS: 0 } })
    expect(await nameOf(after)).toBe('alice.csv')
  })

  test('that storage keeps hold nothing up but the report: the next run removes them and sends the mail', async () => {
    const appId = await openApp(yard, ['alice'])
    await importFile(yard, appId, 'user_id,age\nalice,1\n')
    await request(yard, appId, ['alice'], accepted)
    const other = await openApp(yard, ['carl'])
    await request(yard, other, ['carl'], '2100-03-02T00:00:00Z')
    const storage = { ...yard.storage, removeAll: () => Promise.reject(new Error('storage is away')) }
    await expect(runAt(yard, completion, { storage })).rejects.toThrow('not complete')
    expect(await profilesOf(yard, appId)).toEqual({})
    expect(await mailEvents(yard, appId)).toEqual([])
    expect(await mailEvents(yard, other)).toEqual([mail])
    await runAt(yard, completion)
    expect(await storedKeys(appId)).toEqual([])
    expect(await mailEvents(yard, appId)).toEqual([mail])
  })
})

describe('mails of a catch-up that storage breaks', () => {
  const late = '2100-12-24T00:00:00Z'
  const failing = (times: number) => {
    let left = times
    const removeAll = (prefix: string) =>
      left-- > 0 ? Promise.reject(new Error('storage is away')) : yard.storage.removeAll(prefix)
    return { ...yard.storage, removeAll }
  }

  test('go out for each date, once its files are gone', async () => {
    const appId = await openApp(yard, ['a', 'b'])
    await importFile(yard, appId, 'user_id,age\na,1\n')
    await request(yard, appId, ['a'], accepted)
    await request(yard, appId, ['b'], '2100-04-05T00:00:00Z')
    await expect(runAt(yard, late, { storage: failing(2) })).rejects.toThrow('not complete')
    expect(await profilesOf(yard, appId)).toEqual({})
    expect(await mailEvents(yard, appId)).toEqual([])
    await runAt(yard, late)
    expect(await mailEvents(yard, appId)).toEqual([mail, 'deletion:2100-05-07T00:00:00.000Z'])
  })

  test('do not go out for a date that had nothing left to do', async () => {
    const appId = await openApp(yard, ['a'])
    await importFile(yard, appId, 'user_id,age\na,1\n')
    await request(yard, appId, ['a'], accepted)
    await request(yard, appId, ['a'], '2100-04-05T00:00:00Z')
    await expect(runAt(yard, late, { storage: failing(1) })).rejects.toThrow('not complete')
    await runAt(yard, late)
    expect(await mailEvents(yard, appId)).toEqual([mail])
  })
})

describe('an import under way at completion', () => {
  test('neither fails nor brings a user back; its files go when it has ended', async () => {
    const users = Array.from({ length: 40 }, (_, index) => `user-${index}`)
    const appId = await openApp(yard, users)
    const rows = [...users, ...users].map((user, index) => `${user},${index}\n`).join('')
    const importId = await queueFile(yard, appId, `user_id,age\n${rows}`)
    const waiting = await queueFile(yard, appId, 'user_id,age\nuser-39,7\n')
    await request(yard, appId, users.slice(0, 20), accepted)
    const held = await claim(yard, appId, importId)
    const settings = { ...yard.context.settings, BATCH_ROWS: 1 }
    const importing = runImport({ ...yard.context, settings }, held, new AbortController().signal)
    await runAt(yard, completion)
    expect(await importing).toMatchObject({ outcome: 'completed' })

    expect(Object.keys(await profilesOf(yard, appId)).toSorted()).toEqual(users.slice(20).toSorted())
    const { view: ended } = await resultOf(yard, appId, importId)
    expect(ended).toMatchObject({ state: 'completed', rows_total: 80 })
    expect(ended.rows_failed).toBeLessThanOrEqual(40)
    expect(await mailEvents(yard, appId)).toEqual([mail])
    await runImport(yard.context, await claim(yard, appId, waiting), new AbortController().signal)
    await removeOldFiles(yard.context)
    expect(await storedKeys(appId)).toEqual([])
  })
})
