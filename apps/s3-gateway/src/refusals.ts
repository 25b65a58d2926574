import { type FileKey, fileNameProblem, fileSizeProblem, parseKey } from '@sluice/bucket-uploads'
import { type DeleteCondition, type ObjectName, S3Error, type WriteCondition } from '@sluice/s3-endpoint'
import { StorageFull, StorageRefusal } from '@sluice/storage'

/** Reads the key of a request that was let through; throws AccessDenied where it lies in no app's path. */
export function fileOf({ key }: Pick<ObjectName, 'key'>): FileKey {
  const file = parseKey(key)
  if (file === undefined) throw new S3Error('AccessDenied', 'Access Denied')
  return file
}

/**
 * The same for a file that is to be stored; throws AccessDenied where its name breaks the rules. Programs show its text; at
 * InvalidArgument s3cmd takes the endpoint for one that knows Signature V2 only.
 */
export function newFileOf(name: ObjectName): FileKey {
  const file = fileOf(name)
  const problem = fileNameProblem(file.fileName)
  if (problem !== undefined) throw new S3Error('AccessDenied', sentence(problem))
  return file
}

/** Throws EntityTooLarge for a file, or a part of one, over the limit. Takes bytes. */
export function checkSize(byteSize: number): void {
  refuseSize(fileSizeProblem(byteSize))
}

/** Throws EntityTooLarge if there is a problem with a size. */
export function refuseSize(problem: string | undefined): void {
  if (problem !== undefined) throw new S3Error('EntityTooLarge', sentence(problem))
}

/**
 * Throws NotImplemented if a write or a deletion has a condition.
 *
 * A file never replaces another, so a write has nothing to compare. Not every storage deletes under a condition.
 */
export function refuseCondition(condition: WriteCondition | DeleteCondition | undefined): void {
  if (condition === undefined) return
  throw new S3Error('NotImplemented', 'Conditional writes and deletions are not supported here.')
}

/** The refusal of an upload that was completed, aborted or never begun. */
export function noSuchUpload(): S3Error {
  return new S3Error('NoSuchUpload', 'The specified upload does not exist, or was completed or aborted.')
}

/** Hands on what storage refused in the words of the protocol; other failures pass as they are. */
export async function relayed<Result>(work: Promise<Result>): Promise<Result> {
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
