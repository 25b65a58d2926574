import { sql } from '@sluice/database'
import { expect, test } from 'vitest'
import { openDeletionFixture, request, runAt, schedule } from '../deletions/deletion-fixture.ts'
import { importFile, openApp } from '../imports/import-fixture.ts'

// The planner has no statistics of such an app. A wrong plan compares each row of a batch with every user of the app:
// the import alone would take minutes.
test('an app that was created after the last ANALYZE of a large table is imported and deleted as fast as any', async () => {
  const fixture = await openDeletionFixture()
  const { db } = fixture.database
  const known = await openApp(fixture)
  await sql`
    insert into users (app_id, user_id) select ${known}::integer, 'user-' || n from generate_series(1, 200000) n
  `.execute(db)
  await sql`analyze`.execute(db)

  const users = Array.from({ length: 30_000 }, (_, index) => `user-${index}`)
  const appId = await openApp(fixture, users)
  const { view } = await importFile(fixture, appId, `user_id,age\n${users.map((user) => `${user},1\n`).join('')}`)
  expect(view).toMatchObject({ state: 'completed', rows_applied: users.length })
  for (const from of [0, 10_000, 20_000])
    await request(fixture, appId, users.slice(from, from + 10_000), schedule.accepted)
  expect(await runAt(fixture, schedule.completion)).toMatchObject({ completed: 3, usersDeleted: users.length })
  await fixture.close()
})
