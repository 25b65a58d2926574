import { importUnannouncedFiles } from '@sluice/bucket-uploads'
import { sql } from '@sluice/database'
import { StorageFull } from '@sluice/storage'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import {
  changingList,
  clearPaths,
  failingCopies,
  importedContents,
  importedNames,
  putPast,
  sweptCopies,
} from './bucket-files.ts'
import { eachWithOwner } from './test-gateway.ts'

// The order of unannounced files, and the handling of files that storage fails to copy.
const { gateway, owner } = eachWithOwner()
beforeEach(async () => {
  await gateway.db.deleteFrom('unannounced_file_failures').execute()
  await clearPaths(gateway)
})

const take = (storage = gateway.maintenance.storage) => importUnannouncedFiles({ ...gateway.maintenance, storage })
const put = (name: string, content = 'user_id\nalice\n') => putPast(gateway, owner, name, content)
const names = () => importedNames(gateway, owner)
const isInPath = async (name: string) => (await gateway.maintenance.storage.stat(`${owner.path}${name}`)) !== undefined

// Storage's times have a resolution of one second. Files of the same second are sorted by name.
// design.md §4, 8.
describe('the order of unannounced files', () => {
  test('later files of an app wait for an earlier file that could not be copied', async () => {
    for (const name of ['1.csv', '2.csv', '3.csv']) await put(name)
    await take(failingCopies(gateway.maintenance.storage, (key) => key.endsWith('/2.csv')))
    expect(await names()).toEqual(['1.csv'])
    await take()
    expect(await names()).toEqual(['1.csv', '2.csv', '3.csv'])
  })

  test('files of other apps do not wait', async () => {
    const other = await gateway.openOwner()
    await put('1.csv')
    await putPast(gateway, other, '2.csv', 'user_id\nbob\n')
    await take(failingCopies(gateway.maintenance.storage, (key) => key.startsWith(owner.path)))
    expect([await names(), await importedNames(gateway, other)]).toEqual([[], ['2.csv']])
  })

  test.each([1, 2])(
    'a file that comes between two pages of listing %i is not overtaken by a later file',
    async (listing) => {
      await put('5.csv')
      const storage = changingList(gateway.maintenance.storage, `${owner.path}5`, listing, async () => {
        await put('1.csv')
        await put('9.csv')
      })
      await take(storage)
      await take()
      expect((await names()).filter((name) => name !== '5.csv')).toEqual(['1.csv', '9.csv'])
      expect(await names()).toHaveLength(3)
    },
  )
})

describe('a file that storage fails to copy', () => {
  const broken = () => failingCopies(gateway.maintenance.storage, (key) => key.endsWith('/1.csv'))
  const fail = async (times: number) => {
    for (let time = 0; time < times; time++) await take(broken())
  }
  const failures = () => gateway.db.selectFrom('unannounced_file_failures').selectAll().execute()
  const anHourLater = () => {
    const hourAgo = sql<Date>`first_failed_at - interval '1 hour'`
    return gateway.db.updateTable('unannounced_file_failures').set({ first_failed_at: hourAgo }).execute()
  }

  test('blocks later files of its app for an hour, then it is refused for good with one mail', async () => {
    await put('1.csv')
    await put('2.csv')
    await fail(12)
    expect([await names(), await failures()]).toMatchObject([[], [{ failures: 12, refused_at: null }]])
    await anHourLater()
    await fail(1)
    expect(await names()).toEqual([])
    const { mails } = await take(broken())
    expect([await names(), mails.length]).toEqual([['2.csv'], 1])
    const [mail] = await gateway.db.selectFrom('mails').selectAll().where('app_id', '=', owner.appId).execute()
    expect(mail?.text).toContain('storage did not hand over the file for an hour')
    // It must not be imported after files that have overtaken it.
    expect(await take()).toEqual({ imported: 0, mails: [] })
    expect([await names(), await isInPath('1.csv')]).toEqual([['2.csv'], true])
  })

  test('is refused an hour after the clock of Postgres was set back', async () => {
    await put('1.csv')
    await fail(12)
    await gateway.db
      .updateTable('unannounced_file_failures')
      .set({ first_failed_at: sql<Date>`now() + interval '1 day'` })
      .execute()
    await fail(1)
    expect(await failures()).toMatchObject([{ failures: 13, refused_at: null }])
    await anHourLater()
    await fail(1)
    expect(await failures()).toMatchObject([{ failures: 14, refused_at: expect.any(Date) }])
  })

  test('is not refused within an hour, nor after a few failures', async () => {
    await put('1.csv')
    await fail(1)
    await anHourLater()
    await fail(8)
    expect(await failures()).toMatchObject([{ failures: 9, refused_at: null }])
    await take()
    expect(await names()).toEqual(['1.csv'])
  })

  test('does not count a failure if somebody else’s lock prevented the import', async () => {
    await sql
      .raw(`
      create function lock_uploads() returns trigger language plpgsql as $$
      begin raise exception using errcode = '55P03', message = 'simulated'; end $$;
      create trigger lock_uploads before insert on bucket_uploads for each row execute function lock_uploads()
    `)
      .execute(gateway.db)
    onTestFinished(async () => {
      await sql`drop trigger lock_uploads on bucket_uploads`.execute(gateway.db)
      await sql`drop function lock_uploads`.execute(gateway.db)
    })
    await put('1.csv')
    expect(await take()).toEqual({ imported: 0, mails: [] })
    expect(await failures()).toEqual([])
  })

  test('is not imported if another process refuses it while it is copied', async () => {
    await put('1.csv')
    await fail(1)
    const { storage, db } = gateway.maintenance
    const copy: typeof storage.copy = async (...args) => {
      await storage.copy(...args)
      await db.updateTable('unannounced_file_failures').set({ refused_at: new Date() }).execute()
    }
    await take({ ...storage, copy })
    expect([await names(), await isInPath('1.csv')]).toEqual([[], true])
    const pages = await Array.fromAsync(storage.list(`apps/${owner.appId}/`))
    expect(pages.flat()).toEqual([])
  })

  test('does not count a failure while storage has no space', async () => {
    await put('1.csv')
    const storage = { ...gateway.maintenance.storage, copy: () => Promise.reject(new StorageFull('the copy')) }
    await take(storage)
    expect(await failures()).toEqual([])
  })

  test('is removed after the retention time of refused files', async () => {
    await put('1.csv')
    await fail(1)
    await anHourLater()
    await fail(10)
    const days = gateway.maintenance.settings.FILE_RETENTION_DAYS
    await gateway.db
      .updateTable('unannounced_file_failures')
      .set({ refused_at: sql<Date>`now() - make_interval(days => ${days}, mins => 1)` })
      .execute()
    await take()
    expect(await isInPath('1.csv')).toBe(false)
    await take()
    expect(await failures()).toEqual([])
  })

  test('is forgotten when its owner replaces it, and the new file is imported', async () => {
    await put('1.csv')
    await fail(1)
    await anHourLater()
    await fail(10)
    await put('1.csv', 'user_id\nbob\n')
    await take()
    expect(await importedContents(gateway, owner)).toEqual(['user_id\nbob\n'])
    await take()
    expect(await failures()).toEqual([])
  })

  test('leaves no upload that counts as waiting, and a sweep of its copy, which may appear late', async () => {
    await put('1.csv')
    await fail(1)
    const { db } = gateway
    const ofOwner = async (table: 'bucket_uploads' | 'file_sweeps') =>
      await db.selectFrom(table).select('import_id').where('app_id', '=', owner.appId).execute()
    expect(await ofOwner('bucket_uploads')).toHaveLength(0)
    expect(await ofOwner('file_sweeps')).toHaveLength(1)
  })
})

test('a run that is stopped ends before its next file, and counts no failure', async () => {
  for (const name of ['1.csv', '2.csv', '3.csv']) await put(name)
  const stop = new AbortController()
  const { storage } = gateway.maintenance
  const copy: typeof storage.copy = async (...args) => {
    await storage.copy(...args)
    stop.abort()
  }
  await importUnannouncedFiles({ ...gateway.maintenance, storage: { ...storage, copy }, shutdown: stop.signal })
  expect(await names()).toEqual(['1.csv'])
  expect(await gateway.db.selectFrom('unannounced_file_failures').selectAll().execute()).toEqual([])
  await take()
  expect(await names()).toEqual(['1.csv', '2.csv', '3.csv'])
})

test('an imported file that storage fails to remove from the path blocks no other file', async () => {
  await put('1.csv')
  await put('2.csv')
  const remove = () => Promise.reject(new Error('storage did not remove the object'))
  expect(await take({ ...gateway.maintenance.storage, remove })).toMatchObject({ imported: 2 })
  await take()
  expect([await names(), await isInPath('1.csv'), await isInPath('2.csv')]).toEqual([['1.csv', '2.csv'], false, false])
})

describe('an unannounced file stays in the path', () => {
  test('if its copy was swept away before it became an import', async () => {
    await put('people.csv')
    expect(await take(sweptCopies(gateway.maintenance))).toMatchObject({ imported: 0 })
    expect([await names(), await isInPath('people.csv')]).toEqual([[], true])
    expect(await take()).toMatchObject({ imported: 1 })
    expect(await importedContents(gateway, owner)).toEqual(['user_id\nalice\n'])
    expect(await isInPath('people.csv')).toBe(false)
  })
})

describe('a file with a name that is refused', () => {
  const mails = () => gateway.db.selectFrom('mails').select('text').where('app_id', '=', owner.appId).execute()

  test('is reported by one mail, even if the mail is no longer kept', async () => {
    await put('bad name.csv')
    expect((await take()).mails).toHaveLength(1)
    await gateway.db.deleteFrom('mails').where('app_id', '=', owner.appId).execute()
    expect((await take()).mails).toEqual([])
  })

  test('is removed once a deletion has completed since, and its mail forgets the name', async () => {
    await put('alice smith.csv')
    await take()
    expect(await mails()).toMatchObject([{ text: expect.stringContaining('alice smith.csv') }])
    const deleted = { app_id: owner.appId, user_hash: Buffer.alloc(32), deleted_at: sql<Date>`clock_timestamp()` }
    await gateway.db.insertInto('recently_deleted_users').values(deleted).execute()
    await take()
    expect(await isInPath('alice smith.csv')).toBe(false)
    expect(await mails()).toMatchObject([{ text: expect.not.stringContaining('alice') }])
  })
})
