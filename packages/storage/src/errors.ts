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
