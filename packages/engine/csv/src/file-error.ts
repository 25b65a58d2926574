/** What a {@link FileError} has besides its message. */
interface FileErrorOptions extends ErrorOptions {
  /** Replaces the message in the log, for messages with names from the file. Default: the message. */
  forLog?: string
}

/**
 * The file as a whole cannot be imported. The message is the documented message for the uploader (service.md, Errors).
 *
 * @example
 * ```ts
 * const error = new FileError('duplicate columns jane', { forLog: 'duplicate columns [1 names]' })
 * error.message // → "duplicate columns jane"
 * error.forLog // → "duplicate columns [1 names]"
 * ```
 */
export class FileError extends Error {
  override readonly name = 'FileError'
  readonly #forLog: string

  constructor(message: string, { forLog = message, ...options }: FileErrorOptions = {}) {
    super(message, options)
    this.#forLog = forLog
  }

  /** The message without any text of the file. Logs are kept longer than files. */
  get forLog(): string {
    return this.#forLog
  }
}
