export { deletedSince, recentlyDeletedHash } from './deleted-users.ts'
export { checkEntries } from './entries.ts'
export { mergeIntoExisting } from './existing-profile.ts'
export { joinedProfileUpdates } from './joined-updates.ts'
export {
  changeKeys,
  DisabledKeys,
  declareKeys,
  KeyLimitExceeded,
  type KeyRegistry,
  keyChangeText,
  keyList,
  keyRegistry,
  listKeys,
  type RegisteredKey,
  registeredKeys,
  registerKeys,
  requireRoom,
  requireTypes,
  TypeConflict,
  UnregisteredKeys,
} from './keys.ts'
export { removeValue } from './remove-value.ts'
export { type KeyStatistics, type ProfileStatistics, profileStatistics } from './statistics.ts'
export { UnregisteredUser } from './update.ts'
export { findUnregistered, registerUsers, showUser, type UserView, userIdProblem } from './users.ts'
export { keepUsers, lockUsersForDeletion } from './users-lock.ts'
export { ByteWriter } from './values/byte-writer.ts'
export { parseDatetime } from './values/datetime.ts'
export { addSpelling, ColumnInference } from './values/inference.ts'
export type { InferenceWarning } from './values/inference-warning.ts'
export { SpellingLosses } from './values/spelling.ts'
export type { RowProblem } from './values/value-type.ts'
