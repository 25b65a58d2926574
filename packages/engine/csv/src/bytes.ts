/** The part of Node's `Buffer` that is used here. Browsers have none. */
interface Buffers {
  concat(parts: readonly Uint8Array[]): Uint8Array
}

const { Buffer } = globalThis as { Buffer?: Buffers }

/** Copies bytes into one array. In Node, the array is a `Buffer`, like all chunks of an import. */
export function joinBytes(parts: readonly Uint8Array[]): Uint8Array {
  if (Buffer !== undefined) return Buffer.concat(parts)
  const joined = new Uint8Array(parts.reduce((length, part) => length + part.length, 0))
  let at = 0
  for (const part of parts) {
    joined.set(part, at)
    at += part.length
  }
  return joined
}
