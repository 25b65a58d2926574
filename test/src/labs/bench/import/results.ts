import { median } from '../statistics.ts'
import type { Contender, ImportDetails, Measured } from './contender.ts'
import type { Part } from './options.ts'

type Name = Contender['name']

/** The measurements, in the order of the rounds. */
export class Results {
  readonly #runs = new Map<string, Measured[]>()
  readonly #sizes = new Map<string, number>()

  add(part: Part, name: Name, measured: Measured): void {
    this.#runs.set(`${part} ${name}`, [...this.runs(part, name), measured])
  }

  runs(part: Part, name: Name): readonly Measured[] {
    return this.#runs.get(`${part} ${name}`) ?? []
  }

  /** Returns the median of `value` over the runs; NaN if there are none. */
  median(part: Part, name: Name, value: (measured: Measured) => number): number {
    return median(this.runs(part, name).map(value))
  }

  /**
   * Returns the median over the rounds of a contender's time (Sluice's by default) divided by `yardstick`'s in the same
   * round.
   */
  ratio(part: Part, yardstick: Name, name: Name = 'Sluice'): number {
    const yardsticks = this.runs(part, yardstick)
    return median(
      this.runs(part, name).map(({ seconds }, round) => seconds / (yardsticks[round]?.seconds ?? Number.NaN)),
    )
  }

  /** Returns the details of Sluice's runs of a part, or of all parts. */
  details(part?: Part): readonly ImportDetails[] {
    const runs = [...this.#runs].filter(([key]) => part === undefined || key === `${part} Sluice`)
    return runs.flatMap(([, measured]) => measured.flatMap(({ details }) => (details === undefined ? [] : [details])))
  }

  setSize(part: Part, name: Name, bytes: number): void {
    this.#sizes.set(`${part} ${name}`, bytes)
  }

  /** Returns the bytes of users and profiles on disk after the last round of a part; NaN if unknown. */
  size(part: Part, name: Name): number {
    return this.#sizes.get(`${part} ${name}`) ?? Number.NaN
  }
}
