import { sql } from '@sluice/database'
import { takeStrayFiles } from '@sluice/dropbox'
import { StorageFull } from '@sluice/storage'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { changingList, failingCopies, importedContents, importedNames, putPast, sweptCopies } from './bucket-files.ts'
import { type Owner, openTestDropbox, type TestDropbox } from './test-dropbox.ts'

// Unannounced files: their order, and what happens to files that storage does not copy.
let dropbox: TestDropbox
let owner: Owner

beforeAll(async () => {
  dropbox = await openTestDropbox()
})
afterAll(() => dropbox.close())
beforeEach(async () => {
  await dropbox.db.deleteFrom('unannounced_file_failures').execute()
  owner = await dropbox.openOwner()
  const { relay } = dropbox.upkeep
  for await (const page of relay.list('dropbox/')) for (const { key } of page) await relay.remove(key)
})

const take = (relay = dropbox.upkeep.relay) => takeStrayFiles({ ...dropbox.upkeep, relay })
const put = (name: string, content = 'user_id\nalice\n') => putPast(dropbox, owner, name, content)
const names = () => importedNames(dropbox, owner)
const isInPath = async (name: string) => (await dropbox.upkeep.relay.describe(`${owner.path}${name}`)) !== undefined

// Files of one second go by their names, as storage's times have no more.
describe('the order of unannounced files', () => {
  test('later files of an app wait for an earlier one that could not be copied', async () => {
    for (const name of ['1.csv', '2.csv', '3.csv']) await put(name)
    await take(failingCopies(dropbox.upkeep.relay, (key) => key.endsWith('/2.csv')))
    expect(await names()).toEqual(['1.csv'])
    await take()
    expect(await names()).toEqual(['1.csv', '2.csv', '3.csv'])
  })

  test('files of other apps do not wait', async () => {
    const other = await dropbox.openOwner()
    await put('1.csv')
    await putPast(dropbox, other, '2.csv', 'user_id\nbob\n')
    await take(failingCopies(dropbox.upkeep.relay, (key) => key.startsWith(owner.path)))
    expect([await names(), await importedNames(dropbox, other)]).toEqual([[], ['2.csv']])
  })

  test.each([1, 2])(
    'a file that comes between two pages of listing %i is not overtaken by a later one',
    async (listing) => {
      await put('5.csv')
      const relay = changingList(dropbox.upkeep.relay, `${owner.path}5`, listing, async () => {
        await put('1.csv')
        await put('9.csv')
      })
      await take(relay)
      await take()
      expect((await names()).filter((name) => name !== '5.csv')).toEqual(['1.csv', '9.csv'])
      expect(await names()).toHaveLength(3)
    },
  )
})

describe('a file that storage does not hand over', () => {
  const broken = () => failingCopies(dropbox.upkeep.relay, (key) => key.endsWith('/1.csv'))
  const fail = async (times: number) => {
    for (let time = 0; time < times; time++) await take(broken())
  }
  const failures = () => dropbox.db.selectFrom('unannounced_file_failures').selectAll().execute()
  const anHourLater = () => {
    const hourAgo = sql<Date>`first_failed_at - interval '1 hour'`
    return dropbox.db.updateTable('unannounced_file_failures').set({ first_failed_at: hourAgo }).execute()
  }

  test('holds up later files of its app for an hour, then it is refused for good with one mail', async () => {
    await put('1.csv')
    await put('2.csv')
    await fail(12)
    expect([await names(), await failures()]).toMatchObject([[], [{ failures: 12, refused_at: null }]])
    await anHourLater()
    await fail(1)
    expect(await names()).toEqual([])
    const { mails } = await take(broken())
    expect([await names(), mails.length]).toEqual([['2.csv'], 1])
    const [mail] = await dropbox.db.selectFrom('mails').selectAll().where('app_id', '=', owner.appId).execute()
    expect(mail?.text).toContain('storage did not hand over the file for an hour')
    // It must not be imported after files that have overtaken it.
    expect(await take()).toEqual({ taken: 0, mails: [] })
    expect([await names(), await isInPath('1.csv')]).toEqual([['2.csv'], true])
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

  test('that somebody else’s lock kept from being taken on has not failed', async () => {
    await sql
      .raw(`
      create function lock_uploads() returns trigger language plpgsql as $$
      begin raise exception using errcode = '55P03', message = 'as told'; end $$;
      create trigger lock_uploads before insert on dropbox_uploads for each row execute function lock_uploads()
    `)
      .execute(dropbox.db)
    onTestFinished(async () => {
      await sql`drop trigger lock_uploads on dropbox_uploads`.execute(dropbox.db)
      await sql`drop function lock_uploads`.execute(dropbox.db)
    })
    await put('1.csv')
    expect(await take()).toEqual({ taken: 0, mails: [] })
    expect(await failures()).toEqual([])
  })

  test('is not imported if another process refuses it while it is copied', async () => {
    await put('1.csv')
    await fail(1)
    const { relay, db } = dropbox.upkeep
    const copy: typeof relay.copy = async (...args) => {
      await relay.copy(...args)
      await db.updateTable('unannounced_file_failures').set({ refused_at: new Date() }).execute()
    }
    await take({ ...relay, copy })
    expect([await names(), await isInPath('1.csv')]).toEqual([[], true])
    const pages = await Array.fromAsync(relay.list(`apps/${owner.appId}/`))
    expect(pages.flat()).toEqual([])
  })

  test('is not blamed while storage has no room', async () => {
    await put('1.csv')
    const relay = { ...dropbox.upkeep.relay, copy: () => Promise.reject(new StorageFull('the copy')) }
    await take(relay)
    expect(await failures()).toEqual([])
  })

  test('is removed when it has been refused for so long as refused files are kept', async () => {
    await put('1.csv')
    await fail(1)
    await anHourLater()
    await fail(10)
    const days = dropbox.upkeep.settings.FILE_RETENTION_DAYS
    await dropbox.db
      .updateTable('unannounced_file_failures')
      .set({ refused_at: sql<Date>`now() - make_interval(days => ${days}, mins => 1)` })
      .execute()
    await take()
    expect(await isInPath('1.csv')).toBe(false)
    await take()
    expect(await failures()).toEqual([])
  })

  test('is forgotten when its owner replaces it: the new file is taken on', async () => {
    await put('1.csv')
    await fail(1)
    await anHourLater()
    await fail(10)
    await put('1.csv', 'user_id\nbob\n')
    await take()
    expect(await importedContents(dropbox, owner)).toEqual(['user_id\nbob\n'])
    await take()
    expect(await failures()).toEqual([])
  })

  test('leaves the key of its copy known: a copy that comes late is swept', async () => {
    await put('1.csv')
    await fail(1)
    const uploads = await dropbox.db
      .selectFrom('dropbox_uploads')
      .select('import_id')
      .where('app_id', '=', owner.appId)
      .execute()
    expect(uploads).toHaveLength(1)
  })
})

test('a run that is told to stop ends before its next file, and blames none', async () => {
  for (const name of ['1.csv', '2.csv', '3.csv']) await put(name)
  const stop = new AbortController()
  const { relay } = dropbox.upkeep
  const copy: typeof relay.copy = async (...args) => {
    await relay.copy(...args)
    stop.abort()
  }
  await takeStrayFiles({ ...dropbox.upkeep, relay: { ...relay, copy }, shutdown: stop.signal })
  expect(await names()).toEqual(['1.csv'])
  expect(await dropbox.db.selectFrom('unannounced_file_failures').selectAll().execute()).toEqual([])
  await take()
  expect(await names()).toEqual(['1.csv', '2.csv', '3.csv'])
})

test('an import whose file storage does not remove from the path holds up no other file', async () => {
  await put('1.csv')
  await put('2.csv')
  const remove = () => Promise.reject(new Error('storage did not remove the object'))
  expect(await take({ ...dropbox.upkeep.relay, remove })).toMatchObject({ taken: 2 })
  await take()
  expect([await names(), await isInPath('1.csv'), await isInPath('2.csv')]).toEqual([['1.csv', '2.csv'], false, false])
})

describe('an unannounced file stays in the path', () => {
  test('if its copy was swept away before it became an import', async () => {
    await put('people.csv')
    expect(await take(sweptCopies(dropbox.upkeep))).toMatchObject({ taken: 0 })
    expect([await names(), await isInPath('people.csv')]).toEqual([[], true])
    expect(await take()).toMatchObject({ taken: 1 })
    expect(await importedContents(dropbox, owner)).toEqual(['user_id\nalice\n'])
    expect(await isInPath('people.csv')).toBe(false)
  })
})
