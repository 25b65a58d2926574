/**
 * What a batch expects of its users' profiles before its lookup:
 *
 * - `unknown`: nothing, since no batch of this run has committed yet.
 * - `none`: its users have no profiles, so it does not look any up.
 * - `some`: some of its users have profiles, so it looks them up.
 * - `conflict`: as `some`, and profile updates may insert first profiles between its lookup and its insert.
 *
 * A batch that expected too little is written a second time.
 */
export type Expectation = 'unknown' | 'none' | 'some' | 'conflict'

/** What a committed batch found of its users' profiles. */
export type ProfilesFound = Exclude<Expectation, 'unknown'>

/** How a batch treats its users' profiles. */
export interface ProfilePlan {
  /** Looks up no profiles, and inserts as if no user had one. */
  assumesNone: boolean
  /** Inserts with the statement that tolerates existing profiles. */
  toleratesConflicts: boolean
}

/**
 * Plans a try of a batch. A retry follows a conflict, so it assumes nothing. With `mustLookUp`, no try does: only the
 * insert of a profile detects that there is one, and neither dry runs nor rows that only remove values insert any.
 */
export function planOf(expectation: Expectation, isRetry: boolean, mustLookUp: boolean): ProfilePlan {
  return {
    assumesNone: !isRetry && !mustLookUp && expectation === 'none',
    toleratesConflicts: isRetry || expectation === 'conflict',
  }
}

/** Returns what a committed batch found. Accepts whether it was a retry, and whether its lookup saw profiles. */
export function profilesFound(expectation: Expectation, isRetry: boolean, hasProfiles: boolean): ProfilesFound {
  // A retry follows a conflict. A batch that expected none had looked up no profiles, so the profile may be an old one.
  // After a lookup, only another writer can have inserted it.
  if (isRetry) return expectation === 'none' ? 'some' : 'conflict'
  return hasProfiles ? 'some' : 'none'
}

/**
 * After a conflict, this many batches use the insert that tolerates existing profiles, which costs 67 % more. The
 * number doubles with each further conflict, because finding out that updates still come makes up to three batches run
 * twice.
 */
const firstTolerantBatches = 16

/** What earlier batches of a run suggest about whether users already have profiles. */
export class ProfileExpectation {
  /**
   * Never returns from `some` to `none`: a batch that expects too little costs more than a lookup that finds nothing.
   */
  #lasting: Exclude<Expectation, 'conflict'> = 'unknown'
  #startedBatches = 0
  /** Number of the first batch that no longer expects a conflict. */
  #conflictsUntil = 0
  #tolerantBatches = firstTolerantBatches

  /** Returns what the next batch in file order is to expect. */
  next(): Expectation {
    return this.#startedBatches++ < this.#conflictsUntil ? 'conflict' : this.#lasting
  }

  /** Notes what a committed batch found. Later batches may have started before it committed. */
  note(found: ProfilesFound): void {
    if (found !== 'none') this.#lasting = 'some'
    else if (this.#lasting === 'unknown') this.#lasting = 'none'
    // During a run of tolerant batches, a further conflict does not start another run.
    if (found !== 'conflict' || this.#startedBatches < this.#conflictsUntil) return
    this.#conflictsUntil = this.#startedBatches + this.#tolerantBatches
    this.#tolerantBatches *= 2
  }
}
