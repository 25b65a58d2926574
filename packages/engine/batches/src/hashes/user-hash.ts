/** Part of every hash, so that nobody can prepare user IDs that all have the same hash. */
export const seed = crypto.getRandomValues(new Int32Array(1))[0] ?? 0

/** Returns a hash of bytes, which is the same throughout this process. `hash-program.wat` computes it as well. */
export function hashOf(source: Uint8Array, start: number, end: number): number {
  let hash = seed
  for (let at = start; at < end; at++) hash = Math.imul(hash ^ (source[at] ?? 0), 0x5bd1e995) ^ (hash >>> 15)
  hash ^= end - start
  return hash ^ (hash >>> 13)
}
