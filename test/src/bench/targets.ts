/** One line of the table of targets. */
export interface Target {
  name: string
  measured: number
  /** The most that is allowed, the least with `higherIsBetter`; undefined where it is only told. */
  must: number | undefined
  stretch: number | undefined
  higherIsBetter?: true
  /** Digits behind the point. */
  digits: 0 | 2
}

/** Prints targets beside what was measured. Gives whether every "must" is met. */
export function printTargets(targets: readonly Target[]): boolean {
  const columns = (cells: readonly string[]) => cells.map((cell) => cell.padStart(10)).join('')
  console.log(`\n${''.padEnd(60)}${columns(['measured', 'must', 'stretch'])}`)
  for (const target of targets) {
    const { name, measured, must, stretch, digits } = target
    const cells = [measured, must, stretch].map((value) => value?.toFixed(digits) ?? '–')
    console.log(`${name.padEnd(60)}${columns([...cells, verdict(target)])}`)
  }
  return targets.every((target) => target.must === undefined || reaches(target, target.must))
}

function verdict(target: Target): string {
  const { must, stretch } = target
  if (must === undefined) return ''
  if (!reaches(target, must)) return 'MISSED'
  return stretch !== undefined && reaches(target, stretch) ? 'stretch' : 'met'
}

/** What could not be measured reaches nothing. */
function reaches({ measured, higherIsBetter }: Target, bound: number): boolean {
  return higherIsBetter ? measured >= bound : measured <= bound
}
