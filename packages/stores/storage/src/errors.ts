import { S3ServiceException } from '@aws-sdk/client-s3'
import { statusOf } from './client.ts'

/** The object is not in storage. */
export class ObjectGone extends Error {
  override readonly name = 'ObjectGone'

  constructor(key: string) {
    super(`${key} is not in storage`)
  }
}

/** Storage has no room for an object. */
export class StorageFull extends Error {
  override readonly name = 'StorageFull'

  constructor(key: string) {
    super(`storage has no room for ${key}`)
  }
}

/** The object was replaced: it does not have the expected ETag. */
export class ObjectReplaced extends Error {
  override readonly name = 'ObjectReplaced'

  constructor(key: string) {
    super(`${key} was replaced in storage`)
  }
}

/** Storage refused a call of an upload in parts because of an error of its sender. */
export class StorageRefusal extends Error {
  override readonly name = 'StorageRefusal'
  /** An error code of the S3 protocol, such as `NoSuchUpload`. */
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }
}

const refusalCodes = ['EntityTooSmall', 'InvalidPart', 'InvalidPartOrder', 'NoSuchUpload'] as const
type RefusalCode = (typeof refusalCodes)[number]

/**
 * Converts an error of a request for `key` to {@link StorageFull} or {@link StorageRefusal} if it is one. Returns other
 * errors unchanged.
 */
export function toRefusal(error: unknown, key: string): unknown {
  if (statusOf(error) === 507) return new StorageFull(key)
  if (!(error instanceof S3ServiceException)) return error
  const code = refusalCodes.find((known) => known === error.name)
  return code === undefined ? error : new StorageRefusal(code, error.message)
}

/** Waits for a request for `key`. Throws its errors as {@link toRefusal} converts them. */
export async function refused<Answer>(key: string, request: Promise<Answer>): Promise<Answer> {
  try {
    return await request
  } catch (error) {
    throw toRefusal(error, key)
  }
}
