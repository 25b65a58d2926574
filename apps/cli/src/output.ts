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

/** Returns a table with a header line, or `empty` if there are no rows. */
export function table(rows: readonly Record<string, unknown>[], empty: string): string {
  const [first] = rows
  if (first === undefined) return empty
  const names = Object.keys(first)
  const cells = [names, ...rows.map((row) => names.map((name) => shown(row[name])))]
  const widths = names.map((_, column) => Math.max(...cells.map((line) => line[column]?.length ?? 0)))
  return cells
    .map((line) =>
      line
        .map((cell, i) => cell.padEnd(widths[i] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Returns a value as printable text, `-` if there is none. */
function shown(value: unknown): string {
  return printable(String(value ?? '-'))
}
