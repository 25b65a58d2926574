import { type FileKey, fileNameProblem, fileSizeProblem, parseKey } from '@sluice/bucket-uploads'
import { type ObjectName, S3Error } from '@sluice/s3-endpoint'
import { StorageFull, StorageRefusal } from '@sluice/storage'

/** Parses the key of an authorised request. Throws AccessDenied if the key is in no app's path. */
export function fileOf({ key }: Pick<ObjectName, 'key'>): FileKey {
  const file = parseKey(key)
  if (file === undefined) throw new S3Error('AccessDenied', 'Access Denied')
  return file
}

/**
 * Parses the key of a file to be stored. Throws AccessDenied if its name breaks the rules.
 *
 * Clients show the message of AccessDenied. The code is not InvalidArgument, because s3cmd would then switch to
 * Signature V2.
 */
export function newFileOf(name: ObjectName): FileKey {
  const file = fileOf(name)
  const problem = fileNameProblem(file.fileName)
  if (problem !== undefined) throw new S3Error('AccessDenied', sentence(problem))
  return file
}

/** Throws EntityTooLarge if a file or a part has more bytes than a file may have. */
export function checkSize(byteSize: number): void {
  refuseSize(fileSizeProblem(byteSize))
}

/** Throws EntityTooLarge with the description of a problem, if there is one. */
export function refuseSize(problem: string | undefined): void {
  if (problem !== undefined) throw new S3Error('EntityTooLarge', sentence(problem))
}

/** Creates the error for an upload that was completed, aborted or never begun. */
export function noSuchUpload(): S3Error {
  return new S3Error('NoSuchUpload', 'The specified upload does not exist, or was completed or aborted.')
}

/** Converts storage's refusals to errors of the S3 protocol. Other errors are thrown unchanged. */
export async function toS3Errors<Result>(work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    if (error instanceof StorageRefusal) throw new S3Error(error.code, error.message)
    if (error instanceof StorageFull) {
      throw new S3Error('InsufficientStorage', 'There is not enough room left to store this.')
    }
    throw error
  }
}

function sentence(problem: string): string {
  return `${problem.charAt(0).toUpperCase()}${problem.slice(1)}.`
}
