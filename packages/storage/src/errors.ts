/** The object is not in storage. */
export class ObjectGone extends Error {
  override readonly name = 'ObjectGone'

  constructor(key: string) {
    super(`${key} is not in storage`)
  }
}

/** The object's ETag is not the expected one: it was replaced. */
export class ObjectReplaced extends Error {
  override readonly name = 'ObjectReplaced'

  constructor(key: string) {
    super(`${key} was replaced in storage`)
  }
}
