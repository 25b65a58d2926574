import pg from 'pg'
import { isConnectionFailure } from './wire/connection-failures.ts'

/**
 * Whether an error is Postgres's own answer to a statement, which then had no effect. False for a broken connection.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

const diskFull = '53100'
const tooManyConnections = '53300'
const outOfRoom = new Set([diskFull, tooManyConnections])

/** Whether Postgres refused for lack of disk space or connections: further statements would fail as well. */
export function isOutOfRoom(error: unknown): boolean {
  return error instanceof pg.DatabaseError && outOfRoom.has(error.code ?? '')
}

/** SQLSTATEs, and prefixes of whole classes, whose cause is neither the statement nor its data. */
const outsideCauses = [
  '08', // the connection broke
  '25P03', // the transaction was idle for too long: this process was stopped meanwhile
  '25006', // the server is read-only: it is about to be replaced
  '25P04', // the transaction took too long, usually because another transaction held a lock
  '28', // the server refuses logins, for example while a password is changed
  '40001', // serialization failure
  '40P01', // deadlock
  '55P03', // a lock was not available
  '57', // an operator intervened: a cancelled statement, or a server that stops, starts or crashed
]

/**
 * Whether a statement failed for a reason outside itself and its data, so that it may succeed the next time. Such
 * reasons are another transaction's lock, a conflict, a server that stops, or a broken connection.
 */
export function hasOutsideCause(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return isConnectionFailure(error)
  const { code = '' } = error
  return outsideCauses.some((cause) => code.startsWith(cause))
}

/** Whether Postgres refused because its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === diskFull
}
