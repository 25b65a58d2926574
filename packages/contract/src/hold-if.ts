import { isJsonObject, JsonNumber } from './json-object.ts'

/** The bounds of a check, in their order: percentages of all rows, and a number of keys. */
export const holdBounds = ['failed_percent', 'changed_percent', 'removed_percent', 'new_keys'] as const

export type HoldBound = (typeof holdBounds)[number]

/** When an import is held for approval: above one of the bounds, always or never (changes.md §2, Asking for it). */
export type HoldIf = 'always' | 'never' | { readonly [Bound in HoldBound]?: number }

const isHoldBound = (name: string): name is HoldBound => holdBounds.some((bound) => bound === name)

const numberOf = (given: unknown) => (given instanceof JsonNumber ? Number(given.text) : given)

/**
 * Returns why a JSON value is no {@link HoldIf}; undefined if it is one. The message follows the name of the value.
 *
 * @example
 * ```ts
 * holdIfProblem({ changed_percent: 20 }) // → undefined
 * holdIfProblem({ changed_percent: 101 }) // → "changed_percent must be a number from 0 to 100"
 * ```
 */
export function holdIfProblem(given: unknown): string | undefined {
  if (given === 'always' || given === 'never') return undefined
  const bounds = isJsonObject(given) ? Object.entries(given) : []
  if (bounds.length === 0) return `must be always, never, or an object with at least one of ${holdBounds.join(', ')}`
  for (const [name, value] of bounds) {
    if (!isHoldBound(name)) return `must have no member except ${holdBounds.join(', ')}`
    const bound = numberOf(value)
    if (name === 'new_keys') {
      if (!Number.isSafeInteger(bound) || Number(bound) < 0) return 'new_keys must be a whole number of at least 0'
    } else if (typeof bound !== 'number' || !(bound >= 0 && bound <= 100)) {
      return `${name} must be a number from 0 to 100`
    }
  }
  return undefined
}

/** Returns a value without a {@link holdIfProblem} as what it is. */
export function toHoldIf(given: unknown): HoldIf {
  if (given === 'always' || given === 'never') return given
  const bounds = Object.entries(isJsonObject(given) ? given : {}).map(([name, value]) => [name, numberOf(value)])
  return Object.fromEntries(bounds)
}

/**
 * Reads what people type: `always`, `never`, or bounds separated by commas. Returns undefined if it is none of them.
 *
 * @example
 * ```ts
 * holdIfOf('changed_percent=20,new_keys=0') // → {"changed_percent": 20, "new_keys": 0}
 * holdIfOf('often') // → undefined
 * ```
 */
export function holdIfOf(text: string): HoldIf | undefined {
  if (text === 'always' || text === 'never') return text
  const bounds = text.split(',').map((bound) => /^\s*(\w+)\s*=\s*(\d+(?:\.\d+)?)\s*$/.exec(bound) ?? [])
  const given = Object.fromEntries(bounds.map(([, name = '', value = '']) => [name, Number(value)]))
  return holdIfProblem(given) === undefined ? given : undefined
}

/**
 * Returns it as people type it.
 *
 * @example
 * ```ts
 * holdIfText({ changed_percent: 20, new_keys: 0 }) // → "changed_percent=20,new_keys=0"
 * ```
 */
export function holdIfText(holdIf: HoldIf): string {
  if (typeof holdIf === 'string') return holdIf
  return Object.entries(holdIf)
    .map((bound) => bound.join('='))
    .join(',')
}
