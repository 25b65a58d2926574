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

/** Storage refused a relayed request because of an error of its sender. */
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
export type RefusalCode = (typeof refusalCodes)[number]

/** Returns storage's error code if it describes an error of the sender, and otherwise undefined. */
export function refusalCode(code: string): RefusalCode | undefined {
  return refusalCodes.find((known) => known === code)
}
