import { isJsonObject, JsonNumber } from './json-object.ts'

/** The bounds of a check, in their order: percentages of all rows, and a number of keys. */
export const holdBounds = ['failed_percent', 'changed_percent', 'removed_percent', 'new_keys'] as const

export type HoldBound = (typeof holdBounds)[number]

/** When an import is held for approval: above one of the bounds, always or never (changes.md §2, Asking for it). */
export type HoldIf = 'always' | 'never' | { readonly [Bound in HoldBound]?: number }

const isHoldBound = (name: string): name is HoldBound => holdBounds.some((bound) => bound === name)

/**
 * Reads a JSON value. Returns the problem if it is no {@link HoldIf}, as a text that follows the name of the value.
 *
 * @example
 * ```ts
 * parseHoldIf({ changed_percent: 20 }) // → {"value": {"changed_percent": 20}}
 * parseHoldIf({ changed_percent: 101 }) // → {"problem": "changed_percent must be a number from 0 to 100"}
 * ```
 */
export function parseHoldIf(given: unknown): { value: HoldIf } | { problem: string } {
  if (given === 'always' || given === 'never') return { value: given }
  const bounds = isJsonObject(given) ? Object.entries(given) : []
  if (bounds.length === 0)
    return { problem: `must be always, never, or an object with at least one of ${holdBounds.join(', ')}` }
  const value: { [Bound in HoldBound]?: number } = {}
  for (const [name, spelled] of bounds) {
    if (!isHoldBound(name)) return { problem: `must have no member except ${holdBounds.join(', ')}` }
    const bound = spelled instanceof JsonNumber ? Number(spelled.text) : spelled
    const problem = boundProblem(name, bound)
    if (problem !== undefined) return { problem: `${name} ${problem}` }
    value[name] = Number(bound)
  }
  return { value }
}

function boundProblem(name: HoldBound, bound: unknown): string | undefined {
  if (name === 'new_keys')
    return Number.isSafeInteger(bound) && Number(bound) >= 0 ? undefined : 'must be a whole number of at least 0'
  const isPercentage = typeof bound === 'number' && bound >= 0 && bound <= 100
  return isPercentage ? undefined : 'must be a number from 0 to 100'
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
  const parsed = parseHoldIf(given)
  return 'value' in parsed ? parsed.value : undefined
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

/** What people call the bounds, in forms and mails. */
export const boundLabels: Readonly<Record<HoldBound, string>> = {
  failed_percent: 'Percent of rows with errors',
  changed_percent: 'Percent of rows that change or remove a stored value',
  removed_percent: 'Percent of rows that remove a stored value',
  new_keys: 'Number of new keys',
}

/**
 * Returns a reason of a held import (changes.md §2, Held) in the words of {@link boundLabels}.
 *
 * @example
 * ```ts
 * holdReasonText('new_keys is 3, over 0') // → "Number of new keys: 3, more than 0"
 * ```
 */
export function holdReasonText(reason: string): string {
  const [, name = '', found, bound] = /^(\w+) is (\S+), over (\S+)$/.exec(reason) ?? []
  if (!isHoldBound(name)) return 'It was asked for, whatever the file changes'
  return `${boundLabels[name]}: ${found}, more than ${bound}`
}
