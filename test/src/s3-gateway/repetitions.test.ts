import { request } from 'node:http'
import { sql } from '@sluice/database'
import { beforeEach, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { importedContents } from './bucket-files.ts'
import { eachWithOwner } from './test-gateway.ts'

// Repeated uploads to one pre-signed address. All of them have the same signature.
const { gateway, owner } = eachWithOwner()
let url: string
beforeEach(async () => {
  url = await gateway.presignPut(owner, `${owner.path}people.csv`, 600)
})

const x = 'user_id,name\nalice,X\n'
const y = 'user_id,name\nalice,Y\n'
const late = 'user_id,name\nalice,late\n'

async function put(body: string): Promise<void> {
  expect((await fetch(url, { method: 'PUT', body })).status).toBe(200)
}
const imported = () => importedContents(gateway, owner)
async function storedKeys(): Promise<string[]> {
  const pages = await Array.fromAsync(gateway.maintenance.storage.list(`apps/${owner.appId}/`))
  return pages.flat().map(({ key }) => key)
}

test('a file is imported again if another file came to the same address in between', async () => {
  for (const body of [x, y, x]) await put(body)
  expect(await imported()).toEqual([x, y, x])
})

test('repetitions of the latest file create no import and leave no copy, however often the files alternate', async () => {
  for (const body of [x, x, y, y, x, x, x, y]) await put(body)
  expect(await imported()).toEqual([x, y, x, y])
  expect(await storedKeys()).toHaveLength(4)
})

test('simultaneous repetitions create one import, whatever came to the address before', async () => {
  for (const body of [x, y]) await put(body)
  await Promise.all(Array.from({ length: 6 }, () => put(x)))
  expect(await imported()).toEqual([x, y, x])
  expect(await storedKeys()).toHaveLength(3)
})

test('a file that is still being sent does not count as a file in between', async () => {
  await put(x)
  const slow = request(url, { method: 'PUT', headers: { 'Content-Length': y.length } })
  const answered = new Promise<number>((resolve, reject) => {
    slow.once('response', (response) => resolve(response.resume().statusCode ?? 0))
    slow.once('error', reject)
  })
  slow.write(y.slice(0, 10))
  await until('the second file to be in flight', () =>
    gateway.db.selectFrom('bucket_uploads').select('import_id').where('app_id', '=', owner.appId).executeTakeFirst(),
  )
  await put(x)
  slow.end(y.slice(10))
  expect(await answered).toBe(200)
  expect(await imported()).toEqual([x, y])
  await put(x)
  expect(await imported()).toEqual([x, y, x])
})

test('a file waits for another file whose upload is about to be committed, and is imported again after it', async () => {
  await put(x)
  // The transaction of the other upload has inserted its import and is not committed yet.
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const { promise: inserted, resolve: insert } = Promise.withResolvers<void>()
  const holding = gateway.db.transaction().execute(async (tx) => {
    await sql`lock table apps in share update exclusive mode`.execute(tx)
    await sql`
      create function hold() returns trigger language plpgsql as $$ begin lock table apps in share update exclusive mode; return new; end $$
    `.execute(gateway.db)
    await sql`
      create trigger hold after insert on imports for each row when (new.byte_size = ${sql.lit(late.length)}) execute function hold()
    `.execute(gateway.db)
    insert()
    await released
  })
  await inserted
  const first = put(late)
  await until('the other upload to hold its transaction open', async () => (await lockWaits(gateway.db)).length === 1)
  const second = put(x)
  await until('the repetition to wait', async () => (await lockWaits(gateway.db, 'advisory')).length === 1)
  release()
  await Promise.all([holding, first, second])
  await sql`drop function hold cascade`.execute(gateway.db)
  expect(await imported()).toEqual([x, late, x])
})

test.each(['failed', 'cancelled'] as const)('a file whose import ended as %s is imported again', async (state) => {
  await put(x)
  await gateway.db.updateTable('imports').set({ state }).where('app_id', '=', owner.appId).execute()
  await Promise.all([put(x), put(x), put(x)])
  expect(await imported()).toEqual([x, x])
})

test.each(['processing', 'completed'] as const)('a file whose import is %s is not imported again', async (state) => {
  await put(x)
  await gateway.db.updateTable('imports').set({ state }).where('app_id', '=', owner.appId).execute()
  await put(x)
  expect(await imported()).toEqual([x])
})

test('the same bytes of another app or under another name are another file', async () => {
  const other = await gateway.openOwner()
  const elsewhere = await gateway.presignPut(other, `${other.path}people.csv`, 600)
  await put(x)
  expect((await fetch(elsewhere, { method: 'PUT', body: x })).status).toBe(200)
  url = await gateway.presignPut(owner, `${owner.path}others.csv`, 600)
  await put(x)
  expect([await imported(), await importedContents(gateway, other)]).toEqual([[x, x], [x]])
})
