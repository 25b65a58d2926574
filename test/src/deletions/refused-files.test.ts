import { importUnannouncedFiles, pathOf } from '@sluice/bucket-uploads'
import { sql } from '@sluice/database'
import { beforeEach, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { openBeforeEach } from '../environment/opened.ts'
import { until } from '../environment/wait.ts'
import { openApp } from '../imports/import-fixture.ts'
import { mailEvents, openBucketFixture, request, runAt, schedule } from './deletion-fixture.ts'

// Refused files never become imports, so they are gone before a deletion is reported as completed.
const fixture = openBeforeEach(openBucketFixture)
let appId: number
beforeEach(async () => {
  appId = await openApp(fixture, ['alice', 'bob'])
  await request(fixture, appId, ['alice'], schedule.accepted)
})

const csv = Buffer.from('user_id,age\nalice,1\n')
const put = (name: string, content = csv) => fixture.storage.write(`${pathOf(appId)}${name}`, content, 'text/csv')
const search = () => importUnannouncedFiles(fixture.maintenance)
const refusalMails = async () =>
  await fixture.database.db.selectFrom('mails').select('text').where('event', 'like', 'file:%').execute()

/** Returns the keys of the app's path. */
async function inPath(): Promise<string[]> {
  const names: string[] = []
  for await (const page of fixture.bucket.storage.list(pathOf(appId)))
    names.push(...page.map(({ key }) => key.slice(pathOf(appId).length)))
  return names
}

test('a file whose name is refused is removed by the completion, and its mail forgets the name', async () => {
  await put('bad alice.csv')
  await search()
  expect(await refusalMails()).toMatchObject([{ text: expect.stringContaining('bad alice.csv') }])
  await put('alice of whom no search knows.csv')
  await runAt(fixture, schedule.completion)
  expect(await inPath()).toEqual([])
  expect(await refusalMails()).toMatchObject([{ text: expect.not.stringContaining('alice') }])
  expect(await mailEvents(fixture, appId)).toEqual([schedule.mail])
})

test('a file that was refused after ten failures is removed by the completion; a file that still fails stays', async () => {
  const { db } = fixture.database
  const copy = () => Promise.reject(new Error('storage does not copy'))
  await put('refused.csv')
  for (let attempt = 1; attempt <= 10; attempt++) {
    await importUnannouncedFiles({ ...fixture.maintenance, storage: { ...fixture.bucket.storage, copy } })
    await sql`update unannounced_file_failures set first_failed_at = now() - interval '1 hour'`.execute(db)
  }
  await put('people.csv')
  await runAt(fixture, schedule.completion)
  expect(await inPath()).toEqual(['people.csv'])
  expect(await search()).toMatchObject({ imported: 1 })
})

test('the name of a folder in the path is removed as well, but not the path of the app', async () => {
  const nothing = Buffer.alloc(0)
  await put('', nothing)
  await put('alice/', nothing)
  await put('alice/people.csv')
  await runAt(fixture, schedule.completion)
  expect(await inPath()).toEqual([''])
})

test('the mail about a refused file forgets its name, although the owner has already removed the file', async () => {
  await put('bad alice.csv')
  await search()
  await fixture.bucket.storage.remove(`${pathOf(appId)}bad alice.csv`)
  await runAt(fixture, schedule.completion)
  expect(await refusalMails()).toMatchObject([{ text: expect.not.stringContaining('alice') }])
})

test('no deletion is reported as completed while storage does not remove a refused file', async () => {
  await put('bad name.csv')
  const storage = { ...fixture.bucket.storage, remove: () => Promise.reject(new Error('storage is away')) }
  await expect(runAt(fixture, schedule.completion, { storage })).rejects.toThrow('not complete')
  expect(await mailEvents(fixture, appId)).toEqual([])
  await runAt(fixture, schedule.completion)
  expect([await inPath(), await mailEvents(fixture, appId)]).toEqual([[], [schedule.mail]])
})

test('a mail that is recorded while the deletion completes forgets the name as well', async () => {
  const { db } = fixture.database
  await put('bad alice.csv')
  let searching: Promise<unknown> | undefined
  await db.transaction().execute(async (tx) => {
    // The search has found the file before the deletion, and records its mail afterwards.
    await sql`lock table unannounced_file_failures in exclusive mode`.execute(tx)
    searching = search()
    await until('the mail to wait', async () => (await lockWaits(db)).length === 1)
    await runAt(fixture, schedule.completion)
  })
  await searching
  expect(await refusalMails()).toMatchObject([{ text: expect.not.stringContaining('alice') }])
})
