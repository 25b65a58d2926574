/** The smallest piece of a client's bytes that a server acts on as a whole. */
export interface Unit {
  bytes: Buffer
  /**
   * What the unit does, without IDs and values, so that each run has the same labels. Undefined if the unit changes
   * nothing.
   */
  label: string | undefined
  /** Whether the server answers before it receives the next unit. */
  answered: boolean
}

export interface UnitReader {
  /** Accepts the next bytes from the client. Returns the units that they complete. */
  push(chunk: Buffer): Unit[]
  /** Returns a function that tells, with each chunk from the server, whether the answer to a unit is complete. */
  awaitAnswer(): (chunk: Buffer) => boolean
}

/** Accepts any bytes from the server as the complete answer. */
export const anyAnswer = () => () => true

/** Replaces IDs, hashes and numbers by a star. */
export function withoutIds(text: string): string {
  return text
    .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, '*')
    .replace(/[0-9a-f]{32,}/g, '*')
    .replace(/\d+/g, '*')
}
