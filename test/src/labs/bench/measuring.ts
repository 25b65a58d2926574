/** Returns the median; for an even number of values the upper of the two in the middle; NaN for no values. */
export function median(values: readonly number[]): number {
  return quantile(values, 0.5)
}

/** Returns the value below which `part` (0 to 1) of the values lie; NaN for no values. */
export function quantile(values: readonly number[], part: number): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN
}

/** Prints a line of a table: a name, and cells at the right side of columns. */
export function printRow(
  name: string,
  cells: readonly (string | number)[],
  widths: [name: number, cell: number],
): void {
  console.log(`${name.padEnd(widths[0])}${cells.map((cell) => String(cell).padStart(widths[1])).join('')}`)
}

export interface Target {
  name: string
  measured: number
  /** The highest allowed value, or the lowest with `higherIsBetter`. Without it, the value is only reported. */
  must?: number | undefined
  stretch?: number | undefined
  higherIsBetter?: true
  /** Digits after the decimal point. Defaults to 2. */
  digits?: 0 | 2
}

/** Prints the measurements beside their targets. Returns whether every "must" is met. */
export function printTargets(targets: readonly Target[]): boolean {
  console.log()
  printRow('', ['measured', 'must', 'stretch'], [60, 10])
  for (const target of targets) {
    const { name, measured, must, stretch, digits = 2 } = target
    const cells = [measured, must, stretch].map((value) => value?.toFixed(digits) ?? '–')
    printRow(name, [...cells, rating(target)], [60, 10])
  }
  return targets.every((target) => target.must === undefined || reaches(target, target.must))
}

function rating(target: Target): string {
  const { must, stretch } = target
  if (must === undefined) return ''
  if (!reaches(target, must)) return 'MISSED'
  return stretch !== undefined && reaches(target, stretch) ? 'stretch' : 'met'
}

/** A missing measurement reaches no target. */
function reaches({ measured, higherIsBetter }: Target, bound: number): boolean {
  return higherIsBetter ? measured >= bound : measured <= bound
}
