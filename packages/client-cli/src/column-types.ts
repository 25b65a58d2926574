import { Failure } from './failure.ts'

/** Splits `zip=string`. A key may contain `=`, a type may not. Throws {@link Failure} if there is no `=`. */
export function keyAndType(pair: string): { key: string; type: string } {
  const at = pair.lastIndexOf('=')
  if (at === -1) throw new Failure(`${pair} should be KEY=TYPE, for example zip=string`, 2)
  return { key: pair.slice(0, at), type: pair.slice(at + 1) }
}

/** Adds a declared type to the types of the preceding options. A key that is declared twice must have the same type. */
export function addType(pair: string, preceding: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { key, type } = keyAndType(pair)
  if (Object.hasOwn(preceding, key) && preceding[key] !== type) throw new Failure(`${key} has two types`, 2)
  return Object.fromEntries([...Object.entries(preceding), [key, type]])
}
