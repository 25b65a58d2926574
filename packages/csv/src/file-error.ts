/** What a {@link FileError} has beside its message. */
interface FileErrorOptions extends ErrorOptions {
  /** What is logged instead of the message, if the message has names of the file. Default: the message. */
  forLog?: string
}

/** The file as a whole can't be imported. The message is the documented one, for the uploader (service.md, Errors). */
export class FileError extends Error {
  override readonly name = 'FileError'
  readonly #forLog: string

  constructor(message: string, { forLog = message, ...options }: FileErrorOptions = {}) {
    super(message, options)
    this.#forLog = forLog
  }

  /** The message without any text of the file, which a log would keep longer than the file itself is kept. */
  get forLog(): string {
    return this.#forLog
  }
}
