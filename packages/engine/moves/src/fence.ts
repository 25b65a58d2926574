import { setTimeout as delay } from 'node:timers/promises'
import { type Database, sql, waitedTooLong } from '@sluice/database'
import { guardedTables, type Move, nameOf } from './move.ts'

/** Number of tries to lock a table. While one waits, the table's writers wait after it. */
const lockTries = 20
const lockPauseMs = 50

/**
 * Lets a database guard the app's rows, as the state of the move says (`refuse_moving_app`). Waits for the transactions
 * that write into the tables: no transaction passes the guard unseen.
 */
export async function raiseFence(db: Database, move: Move): Promise<void> {
  const fence = sql`execute function refuse_moving_app()`
  for (const { table, written, removed } of triggersOf(move)) {
    await locked(db, async (tx) => {
      await sql`
        create or replace trigger ${written} before insert or update on ${table} for each row
        when (new.app_id = ${sql.lit(move.appId)}) ${fence}
      `.execute(tx)
      await sql`
        create or replace trigger ${removed} before delete on ${table} for each row
        when (old.app_id = ${sql.lit(move.appId)}) ${fence}
      `.execute(tx)
    })
  }
}

/** Removes what {@link raiseFence} has made. */
export async function lowerFence(db: Database, move: Move): Promise<void> {
  for (const { table, written, removed } of triggersOf(move)) {
    await locked(db, async (tx) => {
      await sql`drop trigger if exists ${written} on ${table}`.execute(tx)
      await sql`drop trigger if exists ${removed} on ${table}`.execute(tx)
    })
  }
}

function triggersOf(move: Move) {
  return guardedTables.map((name) => ({
    table: sql.table(name),
    written: sql.id(`${nameOf(move)}_written`),
    removed: sql.id(`${nameOf(move)}_removed`),
  }))
}

/** Works while no one else writes into the tables that the work locks, after the transactions that do. */
export async function locked(db: Database, work: (tx: Database) => Promise<void>): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      if (!waitedTooLong(error) || tries === lockTries) throw error
      await delay(lockPauseMs)
    }
  }
}
