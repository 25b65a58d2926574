/** A digest that is being computed. `digest` returns the bytes and may be called once. */
export type Hasher = { update(chunk: Uint8Array): void; digest(): Buffer }
