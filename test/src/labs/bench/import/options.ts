import { parseArgs } from 'node:util'

/**
 * Three successive phases on one database, five other files for a first import, and the measurements of start-up and
 * memory.
 */
export const phases = ['first', 'again', 'changed'] as const
export const variants = ['wide', 'narrow', 'invalid', 'gzip', 'shuffled'] as const
const parts = [...phases, ...variants, 'start', 'memory'] as const

export type Phase = (typeof phases)[number]
export type Variant = (typeof variants)[number]
export type Part = (typeof parts)[number]

/** The options of the command line. */
export interface Options {
  /** Rows of the first file. The other files have about the same size. */
  rows: number
  rounds: number
  parts: ReadonlySet<Part>
}

/** Reads `--rows N`, `--rounds N` and `--only first,again,…`. Throws if an option is wrong, and names it. */
export function readOptions(args: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...args],
    options: {
      rows: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '3' },
      only: { type: 'string', default: parts.join(',') },
    },
  })
  return {
    rows: positive('--rows', values.rows),
    rounds: positive('--rounds', values.rounds),
    parts: new Set(values.only.split(',').map(part)),
  }
}

function part(name: string): Part {
  const found = parts.find((known) => known === name)
  if (found === undefined) throw new Error(`--only ${name}: there are ${parts.join(', ')}`)
  return found
}

function positive(name: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text)
  throw new Error(`${name} must be a whole number above 0`)
}
