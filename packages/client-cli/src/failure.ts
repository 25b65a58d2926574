/** The failure of a command, with a message for its user. The exit code is 1, or 2 for wrong usage. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message)
    this.exitCode = exitCode
  }
}

/**
 * Returns an error's message. An error without one, as Node throws it if every address of a host refuses the
 * connection, has those of its causes.
 */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}
