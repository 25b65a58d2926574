import { sql } from '@sluice/database'
import { runImport } from '@sluice/imports'
import { beforeAll, expect, test } from 'vitest'
import { lockWaits } from '../environment/database.ts'
import { until } from '../environment/wait.ts'
import { slowReads } from './slow-storage.ts'
import { claim, openApp, openWorkshop, queueFile, resultOf, type Workshop } from './workshop.ts'

// What happens beside an import that makes room on a full disk; `faults/disk-full` has a disk that is really full.
let workshop: Workshop
const never = new AbortController().signal

beforeAll(async () => {
  workshop = await openWorkshop({ BATCH_ROWS: '5', INFERENCE_ROWS: '5' })
  return () => workshop.close()
})

const run = (statement: string) => sql.raw(statement).execute(workshop.database.db)

/** Makes updates of imports wait, if a condition on `old` and `new` holds, for as long as there is a row of this name in `holds`. */
async function hold(name: string, condition: string): Promise<void> {
  await run(`
    insert into holds values ('${name}');
    create function hold_${name}() returns trigger language plpgsql as $$
    begin
      while exists (select from holds where name = '${name}') loop perform pg_sleep(0.01); end loop;
      return new;
    end $$;
    create trigger hold_${name} before update on imports for each row when (${condition}) execute function hold_${name}()
  `)
}

const release = (name: string) => run(`delete from holds where name = '${name}'`)

test('a batch that is committed without its rows while others are set aside leaves no hole in its error file', async () => {
  const { db } = workshop.database
  const file = `user_id,n\n${Array.from({ length: 60 }, (_, row) => `ghost${row},1\n`).join('')}`
  const [appId, otherApp, fullApp] = [await openApp(workshop), await openApp(workshop), await openApp(workshop)]
  const importId = await queueFile(workshop, appId, file)
  const shutdown = new AbortController()
  const storage = slowReads(workshop.storage, 50, (at) => {
    if (at >= file.length / 2) shutdown.abort()
  })
  const context = { ...workshop.context, storage, shutdown: shutdown.signal }
  await runImport(context, await claim(workshop, appId, importId), shutdown.signal)

  const kept = await sql`select from import_error_chunks`.execute(db)
  expect(kept.rows).not.toEqual([])

  // Another import keeps much, and what a third one wants to keep finds no room.
  const largest = await queueFile(workshop, otherApp, file)
  const chunk = { app_id: otherApp, import_id: largest, position: 1, part: 0, content: Buffer.alloc(2 ** 21), bytes: 1 }
  await db.insertInto('import_error_chunks').values(chunk).execute()
  const full = await queueFile(workshop, fullApp, file)
  await run(`
    create table holds (name text);
    create function refuse() returns trigger language plpgsql as $$
    begin raise exception 'No space left on device' using errcode = 'disk_full'; end $$;
    create trigger refuse before insert on import_error_chunks for each row when (new.import_id = '${full}')
      execute function refuse()
  `)
  await hold('marking', `new.import_id = '${importId}' and new.error_file_ends_before_row > 0`)
  await hold('batch', `new.import_id = '${importId}' and new.position <> old.position`)

  const again = await claim(workshop, appId, importId)
  const making = runImport(workshop.context, await claim(workshop, fullApp, full), never)
  await until('all rows to be removed', async () => {
    const { rows } = await sql`select from pg_stat_activity where wait_event = 'PgSleep'`.execute(db)
    return rows.length > 0
  })
  const going = runImport(workshop.context, again, never)
  const waits = (text: string) =>
    until(`${text} to wait`, async () => (await lockWaits(db)).some((statement) => statement.includes(text)))
  await waits('insert into import_error_chunks')
  await release('marking')
  // It waits for the batch that has seen that no rows are kept.
  await waits('share row exclusive')
  await release('batch')

  expect(await making).toEqual({ outcome: 'postponed' })
  expect(await going).toMatchObject({ outcome: 'completed' })
  const { view, errorFile } = await resultOf(workshop, appId, importId)
  expect(errorFile).toBeUndefined()
  expect(view).toMatchObject({ rows_failed: 60, error_file_ends_before_row: 1 })
  expect((await resultOf(workshop, otherApp, largest)).view).toMatchObject({ error_file_ends_before_row: 1 })
})
