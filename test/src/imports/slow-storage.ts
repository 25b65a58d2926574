import { Readable } from 'node:stream'
import type { Storage } from '@sluice/storage'

/**
 * Storage that returns files in pieces of `bytes` bytes, so that a test can act between them. Calls and awaits
 * `onBytes` with the position of each piece before it is returned.
 */
export function slowReads(storage: Storage, bytes: number, onBytes: (at: number) => Promise<void> | void): Storage {
  return {
    ...storage,
    async read(key, options) {
      const all = Buffer.concat(await (await storage.read(key, options)).toArray())
      return Readable.from(
        (async function* () {
          for (let at = 0; at < all.length; at += bytes) {
            await onBytes(at)
            yield all.subarray(at, at + bytes)
          }
        })(),
      )
    },
  }
}
