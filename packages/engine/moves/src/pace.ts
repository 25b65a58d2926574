import { sql } from '@sluice/database'
import { locked } from './fence.ts'
import { type Move, nameOf } from './move.ts'

/** The tables with a row for each user. */
const largeTables = ['users', 'profiles']

/** After about this many rows, the first copy of a table pauses (`pause_copy`). */
const rowsBetweenPauses = 1_000

const trigger = (move: Move) => sql.id(`${nameOf(move)}_paced`)

/**
 * Makes the first copy take a small part of the time of the processors: who moves an app has a server that is busy,
 * and other apps on it. Replication has no limit of its own.
 */
export async function slowCopy(move: Move): Promise<void> {
  for (const table of largeTables.map((name) => sql.table(name))) {
    await locked(move.target.db, async (tx) => {
      await sql`
        create or replace trigger ${trigger(move)} before insert on ${table} for each row
        when (new.app_id = ${sql.lit(move.appId)} and random() < ${sql.lit(1 / rowsBetweenPauses)})
        execute function pause_copy()
      `.execute(tx)
      await sql`alter table ${table} enable replica trigger ${trigger(move)}`.execute(tx)
    })
  }
}

/** Ends what {@link slowCopy} has begun: from now on, the target has to follow. */
export async function endSlowCopy(move: Move): Promise<void> {
  for (const table of largeTables.map((name) => sql.table(name)))
    await locked(move.target.db, async (tx) => {
      await sql`drop trigger if exists ${trigger(move)} on ${table}`.execute(tx)
    })
}
