import { type HoldIf, holdBounds } from '@sluice/contract'

/** What a check counted: all rows, the rows of each percentage, and the keys that would be registered. */
export interface CheckCounts {
  rows: number
  /** Rows with errors. */
  failed: number
  /** Rows that would change or remove a stored value. */
  changing: number
  /** Rows that would remove a stored value. */
  removing: number
  newKeys: number
}

const rowsOf = { failed_percent: 'failed', changed_percent: 'changing', removed_percent: 'removing' } as const

/**
 * Returns why an import is to be held, in the order of the bounds; an empty array if it is not (changes.md §2, Held).
 *
 * @example
 * ```ts
 * const counts = { rows: 7, failed: 0, changing: 3, removing: 0, newKeys: 0 }
 * holdReasons({ changed_percent: 20 }, counts) // → ["changed_percent is 42.9, over 20"]
 * ```
 */
export function holdReasons(holdIf: HoldIf, counts: CheckCounts): string[] {
  // changes.md §2, The check.
  if (holdIf === 'never') return []
  if (holdIf === 'always') return ['every import is held']
  return holdBounds.flatMap((name) => {
    const bound = holdIf[name]
    if (bound === undefined) return []
    const over =
      name === 'new_keys'
        ? counts.newKeys > bound && `${counts.newKeys}`
        : percentOver(BigInt(counts[rowsOf[name]]), BigInt(counts.rows), bound)
    return over ? [`${name} is ${over}, over ${bound}`] : []
  })
}

/**
 * Returns a percentage if it is over the bound, otherwise undefined. Whole numbers are compared, because a quotient
 * might be rounded to the bound. The text has one decimal, or as many as tell it from the bound, and no trailing zero.
 */
function percentOver(count: bigint, of: bigint, bound: number): string | undefined {
  const [mantissa = '', exponent = '0'] = `${bound}`.split('e')
  const [whole = '', fraction = ''] = mantissa.split('.')
  const unit = 10n ** BigInt(fraction.length - Number(exponent))
  const limit = BigInt(whole + fraction) * of
  if (100n * count * unit <= limit) return undefined
  for (let decimals = 1; ; decimals++) {
    const scale = 10n ** BigInt(decimals)
    const rounded = (200n * count * scale + of) / (2n * of)
    if (rounded * unit * of <= limit * scale) continue
    const digits = rounded.toString().padStart(decimals + 1, '0')
    return `${digits.slice(0, -decimals)}.${digits.slice(-decimals)}`.replace(/\.?0+$/, '')
  }
}
