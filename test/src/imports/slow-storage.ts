import { Readable } from 'node:stream'
import type { Storage } from '@sluice/storage'

/**
 * Storage whose files come `bytes` at a time, so that there are many moments between. `onBytes` is waited for before each
 * piece and hears at which byte it begins.
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
