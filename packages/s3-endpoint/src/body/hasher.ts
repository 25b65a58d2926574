/** A digest in the making. `digest` gives the bytes and is called once. */
export type Hasher = { update(chunk: Uint8Array): void; digest(): Buffer }
