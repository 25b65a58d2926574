export { type CompiledQuery, type RawBuilder, sql } from 'kysely'
export { acquireLock, advisoryLocks } from './advisory-locks.ts'
export { currentTime, dueAttempts, isDue, isFarAhead } from './clock.ts'
export { type Connection, connect, type Database } from './connect.ts'
export { encodeTextArray, textOid, uuidOid, writeArrayHeader } from './connection/binary-array.ts'
export { escapeLiteral } from './connection/copy-out.ts'
export { isConnectionFailure } from './connection/driver.ts'
export { openPool, type Pool, type PoolClient } from './connection/pool.ts'
export { copyInto, copyOut, prepared } from './connection/statements.ts'
export {
  followsPosition,
  formatPosition,
  type ListPosition,
  microsecondsOf,
  parseFilterTime,
  parsePosition,
} from './list-position.ts'
export { lookUpByIndex, lookUpBySets } from './lookups.ts'
export { checkSchema, type Migrations, migrate, migrations } from './migrate.ts'
export {
  hasOutsideCause,
  isDiskFull,
  isOutOfRoom,
  isQueryTimeout,
  isRefusal,
  isRefusedMove,
  ranOutOfTime,
  waitedTooLong,
} from './refusal.ts'
export { removeInBatches, rowsAtATime } from './remove-in-batches.ts'
export { retryConflicts, untilAnswered } from './retry.ts'
export { retryPause, retryPauseAfterDeath } from './retry-pause.ts'
export type { Schema } from './schema.ts'
export type { ImportContentType, UploadChecksum } from './schema-imports.ts'
export type { DeletionState } from './schema-profiles.ts'
export { endStaleCopies, mustFind, NothingFound, transactionTimeoutMs, writeTogether } from './write-together.ts'
