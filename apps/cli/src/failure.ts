/** The failure of a command, with a message for its user. The exit code is 1, or 2 for wrong usage. */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly exitCode: 1 | 2

  constructor(message: string, exitCode: 1 | 2 = 1) {
    super(message)
    this.exitCode = exitCode
  }
}
