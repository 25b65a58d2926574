import pg from 'pg'
import { isLostConnection } from './wire/lost-connections.ts'

/** Whether an error is Postgres's own answer to a statement, which then did nothing; not a connection that broke. */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

const diskFull = '53100'
const outOfRoom = new Set([diskFull, '53300']) // the other one: too many connections

/** Whether Postgres refused for want of room: whatever is asked of it next will fare the same. */
export function isOutOfRoom(error: unknown): boolean {
  return error instanceof pg.DatabaseError && outOfRoom.has(error.code ?? '')
}

/** SQLSTATEs, and whole classes, that say nothing about the statement or its data. */
const outsideCauses = [
  '08', // the connection broke
  '25P03', // the transaction did nothing for too long: this process was stopped meanwhile
  '25006', // the server only reads: it is about to be replaced
  '25P04', // the transaction took too long, which is mostly a wait for somebody else's lock
  '28', // the server does not let anyone in, while a password is changed for example
  '40001', // serialization failure
  '40P01', // deadlock
  '55P03', // a lock was not available
  '57', // somebody intervened: a cancelled statement, or a server that stops, starts or crashed
]

/**
 * Whether a statement failed for a reason outside itself and its data: a lock that somebody else holds, a conflict with another
 * transaction, a server that stops, or a connection that broke. The same statement may succeed the next time.
 */
export function hasOutsideCause(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return isLostConnection(error)
  const { code = '' } = error
  return outsideCauses.some((cause) => code.startsWith(cause))
}

/** Whether Postgres refused because its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === diskFull
}
