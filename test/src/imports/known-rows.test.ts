import { registerKeys } from '@sluice/profiles'
import type { Storage } from '@sluice/storage'
import { expect, test } from 'vitest'
import { eachWithApp } from './import-fixture.ts'

// A row is skipped if the user's profile is known to hold it. Equal bytes are not enough: under another header, or with
// another type of a key, the row means something else.
const app = eachWithApp(['u1', 'u2'])

test.each([
  ['under another column', 'user_id,a\nu1,1\n', 'user_id,b\nu1,1\n', { a: 1, b: 1 }],
  ['with two columns swapped', 'user_id,a,b\nu1,1,2\n', 'user_id,b,a\nu1,1,2\n', { a: 2, b: 1 }],
  ['with the ID in another place', 'a,user_id,b\nu2,u1,x\n', 'user_id,a,b\nu2,u1,x\n', { a: 'u2', b: 'x' }],
  ['with one more column in the header', 'user_id,a\nu1,1\n', 'user_id,a,b\nu1,1\n', { a: 1 }],
])('the same row %s is applied', async (_, first, second, ofU1) => {
  expect((await app.importFile(first)).view).toMatchObject({ rows_applied: 1 })
  expect((await app.importFile(second)).view).toMatchObject({ rows_applied: 1 })
  const { u1, u2 } = await app.profiles()
  expect(u1).toEqual(ofU1)
  // In the file with `u2` in it, the row was about this user.
  expect(u2).toEqual(second.includes('\nu2') ? { a: 'u1', b: 'x' } : {})
})

test('the same row is written again after another row of the user, and is refused again if it is invalid', async () => {
  const files = [
    'user_id,a\nu1,1\n',
    'user_id,a\nu1,2\n',
    'user_id,a\nu1,1\n',
    'user_id,a\nu1,x\n',
    'user_id,a\nu1,1\n',
  ]
  for (const file of files) await app.importFile(file)
  expect((await app.profiles()).u1).toEqual({ a: 1 })
  const { view } = await app.importFile('user_id,a\nu1,x\n')
  expect(view).toMatchObject({ rows_applied: 0, rows_failed: 1 })
})

// design.md §3, Registering keys.
test('a key that another request registers meanwhile has the registered type, in profiles and in the import’s view', async () => {
  const importId = await app.queue('user_id,k\nu1,1\nu2,2\n')
  let reads = 0
  const storage: Storage = {
    ...app.storage,
    async read(...args) {
      // The import has looked up the keys, and none was registered.
      if (reads++ === 0) await registerAsString('k')
      return await app.storage.read(...args)
    },
  }
  const claimed = await app.claim(importId)
  const outcome = await app.run(claimed, { storage })
  expect(outcome).toMatchObject({ outcome: 'completed' })
  expect(await app.profiles()).toEqual({ u1: { k: '1' }, u2: { k: '2' } })
  expect(await app.resultOf(importId)).toMatchObject({ view: { rows_applied: 2, types: { k: 'string' } } })
})

async function registerAsString(key: string): Promise<void> {
  const wanted = new Map([[key, 'string' as const]])
  await app.db.transaction().execute((tx) => registerKeys(tx, app.appId, wanted, 500))
}
