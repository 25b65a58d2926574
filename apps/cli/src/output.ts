import { printable, printableJson } from '@sluice/local-stack/printable'
import type { Command } from 'commander'

/** Prints a command's result (design.md §2, Output): the document if `--json` is given, else the text for people. */
export function print(command: Command, document: unknown, text: () => string): void {
  const json = command.optsWithGlobals<{ json?: boolean }>().json === true
  process.stdout.write(`${json ? printableJson(document) : text()}\n`)
}

/** Returns one line `name  value` for each field, with the values aligned. */
export function fields(values: Record<string, unknown>): string {
  const lines = Object.entries(values).map(([name, value]) => [shown(name), shown(value)] as const)
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

/** Returns a number of rows, users or bytes with separators, such as `1,250,000`; null stays null. */
export function count(number: number | null): string | null {
  return number === null ? null : number.toLocaleString('en')
}

/** Returns a time (ISO 8601) on the clock of this machine, such as `2026-11-27 14:05`; null stays null. */
export function localTime(time: string | null): string | null {
  if (time === null) return null
  const date = new Date(time)
  const [day, clock] = [date.toLocaleDateString('sv-SE'), date.toLocaleTimeString('sv-SE')]
  return `${day} ${clock.slice(0, 5)}`
}

/**
 * Returns a table with a header line, or `empty` if there are no rows. On a terminal that is too narrow, the longest
 * cells are shortened, but not those of the first column, which names the row: it is what people copy.
 */
export function table(rows: readonly Record<string, unknown>[], empty: string, width = terminalWidth()): string {
  const [first] = rows
  if (first === undefined) return empty
  const names = Object.keys(first)
  const cells = [names, ...rows.map((row) => names.map((name) => shown(row[name])))]
  const widths = fit(
    names.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0))),
    width,
  )
  return cells
    .map((line) =>
      line
        .map((cell, i) => shorten(cell, widths[i] ?? 0).padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Returns a value as printable text, `-` if there is none. */
function shown(value: unknown): string {
  return printable(String(value ?? '-'))
}

/** The columns of the terminal; no limit if the output goes to a file or a program. */
function terminalWidth(): number {
  return process.stdout.isTTY ? process.stdout.columns : Number.POSITIVE_INFINITY
}

const gap = 2
const narrowest = 8

/** Returns widths of columns that fit into `width` with the gaps between them, as far as {@link narrowest} allows. */
function fit(widths: readonly number[], width: number): number[] {
  const fitted = [...widths]
  const excess = () => fitted.reduce((sum, each) => sum + each + gap, -gap) - width
  while (excess() > 0) {
    const widest = fitted.reduce((best, each, column) => (column > 0 && each > (fitted[best] ?? 0) ? column : best), 1)
    const before = fitted[widest] ?? 0
    if (before <= narrowest) break
    fitted[widest] = Math.max(narrowest, before - excess())
  }
  return fitted
}

function shorten(cell: string, width: number): string {
  return cell.length <= width ? cell : `${cell.slice(0, width - 1)}…`
}
