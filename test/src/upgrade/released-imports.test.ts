import { connect, migrate, sql } from '@sluice/database'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'

test('imports of one app that earlier releases let interleave do not keep the schema from being brought up to date', async () => {
  const empty = await openTestDatabase(2, { migrated: false })
  onTestFinished(empty.close)
  await migrate(empty.url, '0011-profile-time')
  const { db, close } = connect(empty.url, { connections: 1 })
  onTestFinished(close)
  await sql`insert into apps (name) values ('two queued'), ('one runs'), ('one dry run')`.execute(db)
  await sql`
    insert into imports (app_id, source, state, dry_run, position, object_key, content_type)
    select app_id, 'v3', state, dry_run, 10, 'none', 'text/csv' from (values
      (1, 'queued', false), (1, 'queued', false), (2, 'queued', false), (2, 'processing', false),
      (3, 'queued', false), (3, 'queued', true)
    ) as old (app_id, state, dry_run)
  `.execute(db)
  await migrate(empty.url)
  const { rows } = await sql<{ app_id: number; holding: number }>`
    select app_id, count(*) filter (where holds_order)::integer as holding from imports group by app_id order by app_id
  `.execute(db)
  expect(rows.map(({ holding }) => holding)).toEqual([1, 0, 2])
})
