/** The file as a whole can't be imported. The message is the documented one, for the uploader (service.md, Errors). */
export class FileError extends Error {
  override readonly name = 'FileError'
}
