import { sql } from 'kysely'
import type { Database } from './connect.ts'

/**
 * First keys of the advisory locks, four letters in ASCII each. They stand in one list, so that no two are equal. The
 * second key says whose lock it is. Batches of an import are not here: each process draws a first key of its own.
 */
export const advisoryLocks = {
  /** "dele", with the ID of the app. */
  deletionsOfApp: 0x64656c65,
  /** "mail", with the hash of the e-mail address. */
  invitationsOfPerson: 0x6d61696c,
  /** "move", with the ID of the app. A command holds it for as long as its connection. */
  moveOfApp: 0x6d6f7665,
  /** "room", with 0: one process of the deployment makes room on a full disk. */
  roomOnDisk: 0x726f6f6d,
  /** "sess", with the hash of the e-mail address. */
  sessionsOfPerson: 0x73657373,
  /** "sign", with the hash of the signature. */
  uploadsWithSignature: 0x7369676e,
  /** "user", with the ID of the app. */
  usersOfApp: 0x75736572,
  /** "wait", with the ID of the app. */
  waitingImportsOfApp: 0x77616974,
} as const

/** Waits for an advisory lock, and holds it until the transaction ends. Postgres makes a number of a text as key. */
export async function acquireLock(tx: Database, lock: keyof typeof advisoryLocks, key: number | string): Promise<void> {
  const second = typeof key === 'string' ? sql`hashtext(${key})` : sql`${key}::integer`
  await sql`select pg_advisory_xact_lock(${advisoryLocks[lock]}::integer, ${second})`.execute(tx)
}
