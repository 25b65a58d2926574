import type { ProfileBatch } from './profile-batch.ts'

/** What is known of a user, as a byte. */
export const unregistered = 0
export const withoutProfile = 1
export const outdated = 2
export const upToDate = 3
export const deleted = 4

/** What the lookup found about a batch's users, by their numbers in the batch. */
export class UserStates {
  /** Users of the app, in this batch or not, were deleted after the rows were sent. */
  readonly followDeletion: boolean
  readonly #states: Uint8Array

  constructor(states: Uint8Array, followDeletion: boolean) {
    this.#states = states
    this.followDeletion = followDeletion
  }

  /** The lookup found a profile of at least one user. */
  get hasProfiles(): boolean {
    return this.#states.includes(outdated) || this.#states.includes(upToDate)
  }

  /** The number of users whose profiles hold their rows. */
  get unchanged(): number {
    return this.#states.filter((state) => state === upToDate).length
  }

  isRegistered(user: number): boolean {
    return this.#states[user] !== unregistered
  }

  /**
   * Whether there is nothing to check or to write. Either the profile holds all values of the user's row, or the user
   * was deleted after the row was sent. The row then counts as applied before the deletion.
   */
  isDone(user: number): boolean {
    return this.#states[user] === upToDate || this.#states[user] === deleted
  }

  /** Returns the registered users that have new values and no profile yet. */
  toInsert(batch: ProfileBatch): number[] {
    return this.#withDocument(batch, withoutProfile)
  }

  /** Returns the users with new values that their profiles may not hold yet. */
  toUpdate(batch: ProfileBatch): number[] {
    return this.#withDocument(batch, outdated)
  }

  #withDocument(batch: ProfileBatch, state: number): number[] {
    const users: number[] = []
    for (let user = 0; user < batch.size; user++) {
      if (this.#states[user] === state && batch.hasDocument(user)) users.push(user)
    }
    return users
  }
}
