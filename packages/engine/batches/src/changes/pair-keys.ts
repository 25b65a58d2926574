import type { Pairs } from '../documents/pairs.ts'

interface Entry<Found> {
  name: Buffer
  found: Found
  /** The key that followed this one last time. */
  next: Entry<Found> | undefined
}

/**
 * Finds what belongs to the keys of pairs. Documents have their keys in nearly the same order, so the key that
 * followed the preceding one last time is compared first, without a string.
 */
export class PairKeys<Found> {
  readonly #make: (key: string) => Found
  readonly #entries = new Map<string, Entry<Found>>()
  #last: Entry<Found> | undefined

  /** Accepts a function that makes what belongs to a new key. */
  constructor(make: (key: string) => Found) {
    this.#make = make
  }

  /** Returns what belongs to the key of a pair. */
  find(bytes: Buffer, { keyStart, keyEnd }: Pairs): Found {
    const next = this.#last?.next
    const entry =
      next !== undefined && isAt(next.name, bytes, keyStart, keyEnd) ? next : this.#lookUp(bytes, keyStart, keyEnd)
    if (this.#last !== undefined) this.#last.next = entry
    this.#last = entry
    return entry.found
  }

  #lookUp(bytes: Buffer, start: number, end: number): Entry<Found> {
    const text = bytes.toString('utf8', start, end)
    const known = this.#entries.get(text)
    if (known !== undefined) return known
    const found = this.#make(text)
    const entry = { name: Buffer.from(bytes.subarray(start, end)), found, next: undefined }
    this.#entries.set(text, entry)
    return entry
  }
}

function isAt(name: Buffer, bytes: Buffer, start: number, end: number): boolean {
  if (name.length !== end - start) return false
  for (let at = 0; at < name.length; at++) if (name[at] !== bytes[start + at]) return false
  return true
}
