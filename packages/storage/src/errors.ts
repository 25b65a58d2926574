/** The object is not in storage. */
export class ObjectGone extends Error {
  override readonly name = 'ObjectGone'

  constructor(key: string) {
    super(`${key} is not in storage`)
  }
}

/** Storage has no room for what is to be stored. */
export class StorageFull extends Error {
  override readonly name = 'StorageFull'

  constructor(key: string) {
    super(`storage has no room for ${key}`)
  }
}

/** The object's ETag is not the expected one: it was replaced. */
export class ObjectReplaced extends Error {
  override readonly name = 'ObjectReplaced'

  constructor(key: string) {
    super(`${key} was replaced in storage`)
  }
}

/** Storage refused what was passed on to it, for a reason that the sender can do something about. */
export class StorageRefusal extends Error {
  override readonly name = 'StorageRefusal'
  /** As in the S3 protocol, such as `NoSuchUpload`. */
  readonly code: RefusalCode

  constructor(code: RefusalCode, message: string) {
    super(message)
    this.code = code
  }
}

const refusalCodes = ['EntityTooSmall', 'InvalidPart', 'InvalidPartOrder', 'NoSuchUpload'] as const
export type RefusalCode = (typeof refusalCodes)[number]

/** Gives storage's error code if it is one that says what the sender did wrong. */
export function refusalCode(code: string): RefusalCode | undefined {
  return refusalCodes.find((known) => known === code)
}
