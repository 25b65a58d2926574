import { addExample, type InferenceWarning } from './inference-warning.ts'

// This file and its imports also run in browsers, so they must not use Node's API.

/** A type in which a number may lose the spelling that it has in a file. */
export type NumberType = 'int' | 'decimal'

/** More digits than this may change when a decimal is stored as a double. */
export const exactDigits = 15

interface Loss {
  /** Follows the number of values. */
  text: string
  types: readonly NumberType[]
  affects: (number: string) => boolean
}

const losses: readonly Loss[] = [
  { text: 'begin with 0', types: ['int', 'decimal'], affects: (number) => /^[+-]?0\d/.test(number) },
  { text: 'begin with +', types: ['int', 'decimal'], affects: (number) => number.startsWith('+') },
  {
    text: `have more than ${exactDigits} significant digits`,
    types: ['decimal'],
    // An int is exact, in a decimal column too.
    affects: (number) => /[.e]/i.test(number) && significantDigits(number) > exactDigits,
  },
]

/** Counts the numbers of a column that an int or a decimal would spell in another way (second-day.md §1, Warnings). */
export class SpellingLosses {
  #values = 0
  readonly #found = losses.map(() => ({ values: 0, examples: [] as string[] }))

  /** Continues from {@link counts} and the warnings that {@link in} returned together with them. */
  static from([values = 0, ...found]: readonly number[], warnings: readonly InferenceWarning[]): SpellingLosses {
    const continued = new SpellingLosses()
    continued.#values = values
    const examples = warnings.map((warning) => [...warning.examples])
    for (const [index, count] of found.entries()) {
      continued.#found[index] = { values: count, examples: (count > 0 && examples.shift()) || [] }
    }
    return continued
  }

  /** Number of all values, and of the values with each loss. */
  get counts(): number[] {
    return [this.#values, ...this.#found.map(({ values }) => values)]
  }

  /** Counts the next value of the column, which loses nothing. */
  addExact(): void {
    this.#values++
  }

  /** Adds the next number of the column, which is an int or a decimal. */
  add(number: string): void {
    this.#values++
    for (const [index, loss] of losses.entries()) {
      const found = this.#found[index]
      if (found === undefined || !loss.affects(number)) continue
      found.values++
      addExample(found.examples, number)
    }
  }

  /** Returns what the numbers added so far would lose if the column had this type, one entry for each kind of loss. */
  in(type: NumberType): InferenceWarning[] {
    return losses.flatMap(({ text, types }, index) => {
      const { values = 0, examples = [] } = this.#found[index] ?? {}
      if (values === 0 || !types.includes(type)) return []
      return [
        {
          message: `${values} of ${this.#values} values ${text}, which ${type} does not keep`,
          examples: [...examples],
        },
      ]
    })
  }
}

/** Returns the number of digits from the first digit that is not 0. Digits of the exponent do not count. */
function significantDigits(number: string): number {
  const [mantissa = ''] = number.split(/e/i)
  return mantissa.replace(/\D/g, '').replace(/^0+/, '').length
}
