import { createHash } from 'node:crypto'
import { sql } from '@sluice/database'
import { listDeletions, showUserDeletion } from '@sluice/deletions'
import { followErrorLink, removeOldFiles, runImport, showImport } from '@sluice/imports'
import { joinedProfileUpdates, registerUsers, showUser } from '@sluice/profiles'
import { beforeEach, describe, expect, test } from 'vitest'
import { claim, importFile, openApp, profilesOf, queueFile, resultOf } from '../imports/workshop.ts'
import { mailEvents, openYard, request, runAt, runCutShort, targetsOf, type Yard } from './yard.ts'

let yard: Yard
beforeEach(async () => {
  yard = await openYard()
  return () => yard.close()
})

// Accepted on 1 March: starts on the 7th, completes on 7 April.
const accepted = '2100-03-01T12:00:00Z'
const beforeStart = '2100-03-07T11:59:59.999Z'
const start = '2100-03-07T12:00:00Z'
const beforeCompletion = '2100-04-06T23:59:59.999Z'
const completion = '2100-04-07T00:00:00Z'
const mail = 'deletion:2100-04-07T00:00:00.000Z'

const storedKeys = async (appId: number) => {
  const imports = await yard.database.db
    .selectFrom('imports')
    .select('object_key')
    .where('app_id', '=', appId)
    .execute()
  const stats = await Promise.all(imports.map(({ object_key }) => yard.storage.stat(object_key)))
  return imports.filter((_, index) => stats[index] !== undefined).map(({ object_key }) => object_key)
}
const view = async (appId: number) => (await listDeletions(yard.database.db, appId, 10))[0]

describe('the life of a deletion', () => {
  test('accepted, started, completed at its very instants; until then the user stays and can be updated', async () => {
    const appId = await openApp(yard, ['alice', 'bob'])
    await request(yard, appId, ['alice', 'alice', 'nobody'], accepted)
    const name = (value: string) => [{ key: 'name', type: 'string' as const, value }]

    await runAt(yard, beforeStart)
    expect(await view(appId)).toMatchObject({ state: 'accepted', users_requested: 2, started_at: null })
    expect(await targetsOf(yard, appId)).toEqual(['alice', 'bob'])

    expect(await runAt(yard, start)).toMatchObject({ started: 1, completed: 0 })
    expect(await view(appId)).toMatchObject({ state: 'started', token_last_four: 'last' })
    expect(await targetsOf(yard, appId)).toEqual(['bob'])
    expect(await showUser(yard.database.db, appId, 'alice')).toMatchObject({ campaign_target: false })
    expect(await showUserDeletion(yard.database.db, appId, 'alice')).toEqual({
      state: 'started',
      accepted_at: '2100-03-01T12:00:00.000Z',
      starts_at: '2100-03-07T12:00:00.000Z',
      completes_at: '2100-04-07T00:00:00.000Z',
    })
    await joinedProfileUpdates(yard.database.db, 500)(appId, 'alice', name('Alice'))

    await runAt(yard, beforeCompletion)
    expect(await profilesOf(yard, appId)).toEqual({ alice: { name: 'Alice' }, bob: {} })
    expect(await mailEvents(yard, appId)).toEqual([])

    expect(await runAt(yard, completion)).toMatchObject({ completed: 1, usersDeleted: 1, mails: [{ appId }] })
    expect(await profilesOf(yard, appId)).toEqual({ bob: {} })
    expect(await showUserDeletion(yard.database.db, appId, 'alice')).toBeNull()
    expect(await view(appId)).toMatchObject({
      state: 'completed',
      started_at: '2100-03-07T12:00:00.000Z',
      completed_at: '2100-04-07T00:00:00.000Z',
      users_deleted: 1,
      values_deleted: 1,
    })
    expect(await mailEvents(yard, appId)).toEqual([mail])
    await expect(joinedProfileUpdates(yard.database.db, 500)(appId, 'alice', name('x'))).rejects.toThrow()
  })

  test('by the clock of the database the user is no target from the start on, also where upkeep is late', async () => {
    const appId = await openApp(yard, ['alice', 'bob'])
    const day = 24 * 60 * 60_000
    await request(yard, appId, ['alice'], new Date(Date.now() - 6 * day - 1000).toISOString())
    await request(yard, appId, ['bob'], new Date(Date.now() - 6 * day + 60_000).toISOString())
    expect(await targetsOf(yard, appId)).toEqual(['bob'])
    expect(await showUserDeletion(yard.database.db, appId, 'alice')).toMatchObject({ state: 'started' })
  })

  test('who registers between acceptance and completion is deleted too; who registers afterwards stays', async () => {
    const appId = await openApp(yard)
    await request(yard, appId, ['late'], accepted)
    await registerUsers(yard.database.db, appId, ['late'])
    await runAt(yard, completion)
    expect(await profilesOf(yard, appId)).toEqual({})
    await registerUsers(yard.database.db, appId, ['late'])
    await runAt(yard, '2101-01-01T00:00:00Z')
    expect(await profilesOf(yard, appId)).toEqual({ late: {} })
    expect(await targetsOf(yard, appId)).toEqual(['late'])
  })

  test('another app’s user of the same ID is left alone', async () => {
    const [mine, other] = [await openApp(yard, ['alice']), await openApp(yard, ['alice'])]
    await request(yard, mine, ['alice'], accepted)
    await runAt(yard, completion)
    expect(await profilesOf(yard, other)).toEqual({ alice: {} })
    expect(await mailEvents(yard, other)).toEqual([])
  })

  test('months of down time are made up for in one run, with one mail for each date', async () => {
    const appId = await openApp(yard, ['a', 'b', 'c'])
    await request(yard, appId, ['a'], accepted)
    await request(yard, appId, ['b'], '2100-03-02T00:00:00Z')
    await request(yard, appId, ['c'], '2100-04-10T00:00:00Z')
    expect(await runAt(yard, '2100-12-24T00:00:00Z')).toMatchObject({ started: 3, completed: 3, usersDeleted: 3 })
    expect(await mailEvents(yard, appId)).toEqual([mail, 'deletion:2100-05-07T00:00:00.000Z'])
  })

  test('dates are those of the service’s time zone', async () => {
    const tokyo = await openYard('Asia/Tokyo')
    const appId = await openApp(tokyo, ['a'])
    await request(tokyo, appId, ['a'], '2100-04-24T15:00:00Z')
    const [listed] = await listDeletions(tokyo.database.db, appId, 10)
    expect(listed).toMatchObject({ completes_at: '2100-06-06T15:00:00.000Z' })
    await runAt(tokyo, '2100-06-06T15:00:00Z')
    const { text } = await tokyo.database.db.selectFrom('mails').select('text').executeTakeFirstOrThrow()
    expect(text).toContain('2100-06-07')
    await tokyo.close()
  })
})

describe('a user in several requests', () => {
  test('is one deletion with the earliest dates, in whatever order the requests came', async () => {
    const appId = await openApp(yard, ['a', 'b'])
    const later = await request(yard, appId, ['a', 'b'], '2100-04-01T00:00:00Z')
    const earlier = await request(yard, appId, ['a'], accepted)
    await runAt(yard, start)
    expect(await targetsOf(yard, appId)).toEqual(['b'])
    expect(await showUserDeletion(yard.database.db, appId, 'a')).toMatchObject({
      completes_at: '2100-04-07T00:00:00.000Z',
    })
    await runAt(yard, completion)
    expect(await profilesOf(yard, appId)).toEqual({ b: {} })
    await registerUsers(yard.database.db, appId, ['a'])
    await runAt(yard, '2100-05-07T00:00:00Z')
    expect(await profilesOf(yard, appId)).toEqual({ a: {} })
    const listed = await listDeletions(yard.database.db, appId, 10)
    expect(listed.map(({ request_id, users_deleted }) => [request_id, users_deleted])).toEqual([
      [later, 1],
      [earlier, 1],
    ])
  })

  test('completes a request all of whose users went at an earlier date, without a mail of its own', async () => {
    const appId = await openApp(yard, ['a'])
    await request(yard, appId, ['a'], accepted)
    await request(yard, appId, ['a'], '2100-04-05T00:00:00Z')
    expect(await runAt(yard, completion)).toMatchObject({ completed: 2 })
    await runAt(yard, '2100-12-24T00:00:00Z')
    expect(await mailEvents(yard, appId)).toEqual([mail])
  })

  test('is proved for each request by a hash of its own, which tells nobody the ID', async () => {
    const appId = await openApp(yard, ['a'])
    const requests = [await request(yard, appId, ['a'], accepted), await request(yard, appId, ['a', 'x'], accepted)]
    await runAt(yard, completion)
    for (const [index, id] of requests.entries()) {
      const { salt } = await yard.database.db
        .selectFrom('deletion_requests')
        .select('salt')
        .where('request_id', '=', id)
        .executeTakeFirstOrThrow()
      const proofs = await yard.database.db
        .selectFrom('deleted_users')
        .select('user_hash')
        .where('request_id', '=', id)
        .execute()
      expect(proofs.map(({ user_hash }) => user_hash.toString('hex'))).toContain(
        createHash('sha256').update(salt).update('a').digest('hex'),
      )
      expect(proofs).toHaveLength(index + 1)
    }
  })
})

describe('many users', () => {
  const users = Array.from({ length: 6_000 }, (_, index) => `user-${index}`)

  test('go in batches; a run that ends in the middle is gone on with, and only the whole is reported', async () => {
    const appId = await openApp(yard, [...users, 'other'])
    await request(yard, appId, users, accepted)
    await runCutShort(yard, completion, 1)
    const left = Object.keys(await profilesOf(yard, appId)).length
    expect(left).toBeGreaterThan(1)
    expect(left).toBeLessThan(users.length)
    expect(await view(appId)).toMatchObject({ state: 'started', users_deleted: users.length + 1 - left })
    expect(await mailEvents(yard, appId)).toEqual([])

    await runAt(yard, completion)
    expect(await profilesOf(yard, appId)).toEqual({ other: {} })
    expect(await view(appId)).toMatchObject({ state: 'completed', users_deleted: users.length })
    expect(await mailEvents(yard, appId)).toEqual([mail])
  })

  test('a batch that breaks leaves nothing half done', async () => {
    const appId = await openApp(yard, users)
    await request(yard, appId, users, accepted)
    await sql`
      create function refuse() returns trigger language plpgsql as
        $$ begin if (select count(*) from deleted_users) > 3000 then raise 'no room'; end if; return null; end $$
    `.execute(yard.database.db)
    await sql`create trigger refuse after insert on deleted_users for each statement execute function refuse()`.execute(
      yard.database.db,
    )
    await expect(runAt(yard, completion)).rejects.toThrow('not complete')
    const counted = await sql<{ users: number; named: number; proofs: number }>`
      select (select count(*) from users) as users, (select count(*) from deletion_request_users) as named,
        (select count(*) from deleted_users) as proofs
    `.execute(yard.database.db)
    expect(counted.rows).toEqual([{ users: 4000, named: 4000, proofs: 2000 }])
    await sql`drop trigger refuse on deleted_users`.execute(yard.database.db)
    await runAt(yard, completion)
    expect(await view(appId)).toMatchObject({ state: 'completed', users_deleted: users.length })
  })

  test('several upkeep runs at once do it once, with one mail', async () => {
    const appId = await openApp(yard, users)
    await request(yard, appId, users.slice(0, 4_000), accepted)
    await request(yard, appId, users.slice(2_000), accepted)
    const runs = await Promise.all(Array.from({ length: 4 }, () => runAt(yard, completion)))
    const sum = (values: number[]) => values.reduce((a, b) => a + b, 0)
    expect(sum(runs.map(({ usersDeleted }) => usersDeleted))).toBe(users.length)
    expect(sum(runs.map(({ started }) => started))).toBe(2)
    expect(sum(runs.map(({ mails }) => mails.length))).toBe(1)
    expect(await profilesOf(yard, appId)).toEqual({})
    const listed = await listDeletions(yard.database.db, appId, 10)
    expect(sum(listed.map(({ users_deleted }) => users_deleted))).toBe(users.length)
  })
})

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
