/** One line of the table of targets. */
export interface Target {
  name: string
  measured: number
  /** The highest allowed value, or the lowest with `higherIsBetter`; undefined if the value is only reported. */
  must: number | undefined
  stretch: number | undefined
  higherIsBetter?: true
  /** Digits after the decimal point. */
  digits: 0 | 2
}

/** Prints the measurements beside their targets. Returns whether every "must" is met. */
export function printTargets(targets: readonly Target[]): boolean {
  const columns = (cells: readonly string[]) => cells.map((cell) => cell.padStart(10)).join('')
  console.log(`\n${''.padEnd(60)}${columns(['measured', 'must', 'stretch'])}`)
  for (const target of targets) {
    const { name, measured, must, stretch, digits } = target
    const cells = [measured, must, stretch].map((value) => value?.toFixed(digits) ?? '–')
    console.log(`${name.padEnd(60)}${columns([...cells, rating(target)])}`)
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
