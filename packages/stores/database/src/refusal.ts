import pg from 'pg'
import { isConnectionFailure } from './connection/driver.ts'

/**
 * Whether an error is Postgres's own answer to a statement, which then had no effect. False for a broken connection.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError
}

/** Whether a query ended because of the `query_timeout` of its pool. pg has no class for this error. */
export function isQueryTimeout(error: unknown): boolean {
  return error instanceof Error && error.message === 'Query read timeout'
}

const diskFull = '53100'
const tooManyConnections = '53300'
const outOfRoom = new Set([diskFull, tooManyConnections])

/** Whether Postgres refused for lack of disk space or connections: further statements would fail as well. */
export function isOutOfRoom(error: unknown): boolean {
  return error instanceof pg.DatabaseError && outOfRoom.has(error.code ?? '')
}

/** Whether the guard of moving apps refused to write (`moves.sql`). */
export function isRefusedMove(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === 'SL001'
}

const lockTimeout = '55P03'

/** Whether a transaction waited too long for a lock of another one. */
export function waitedTooLong(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === lockTimeout
}

/** SQLSTATEs, and prefixes of whole classes, whose cause is neither the statement nor its data. */
const outsideCauses = [
  '08', // the connection broke
  '25P03', // the transaction was idle for too long: this process was stopped meanwhile
  '25006', // the server is read-only: it is about to be replaced
  '28', // the server refuses logins, for example while a password is changed
  '40001', // serialization failure
  '40P01', // deadlock
  lockTimeout,
  '57', // an operator intervened, or the server stops, starts or crashed
]

const timeLimits = new Set([
  '25P04', // of a transaction
  '57014', // of a statement; an operator's cancellation has the same code
])

/**
 * Whether Postgres ended a transaction because its own work took too long. Waiting for a lock has a lower limit, and
 * another error (`write-together.ts`).
 */
export function ranOutOfTime(error: unknown): boolean {
  return error instanceof pg.DatabaseError && timeLimits.has(error.code ?? '')
}

/**
 * Whether a statement failed for a reason outside itself and its data, so that it may succeed the next time. Such
 * reasons are another transaction's lock, a conflict, a server that stops, or a broken connection.
 */
export function hasOutsideCause(error: unknown): boolean {
  if (!(error instanceof pg.DatabaseError)) return isConnectionFailure(error)
  if (ranOutOfTime(error)) return false
  const { code = '' } = error
  return outsideCauses.some((cause) => code.startsWith(cause))
}

/** Whether Postgres refused because its disk is full. */
export function isDiskFull(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.code === diskFull
}
