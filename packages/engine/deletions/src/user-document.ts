import type { Database } from '@sluice/database'
import { showUser, type UserView, userIdProblem } from '@sluice/profiles'
import { showUserDeletion, type UserDeletionView } from './view.ts'

/** A user as the API and `sluice users show` show it (design.md §2, User view). */
export interface UserDocument extends UserView {
  deletion: UserDeletionView | null
}

/**
 * Returns a user with all profile values and the pending deletion; undefined if the ID is not registered
 * (second-day.md §3, User).
 */
export async function showUserDocument(db: Database, appId: number, userId: string): Promise<UserDocument | undefined> {
  // An invalid ID is never registered. Without this check, an ID with U+0000 would cause an error of Postgres.
  if (userIdProblem(userId) !== undefined) return undefined
  const user = await showUser(db, appId, userId)
  return user && { ...user, deletion: await showUserDeletion(db, appId, userId) }
}
