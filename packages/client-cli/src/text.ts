import { printable } from './printable.ts'

/** A value for people: numbers get separators, dates the clock of this machine. An ID is text. */
type Value = string | number | Date | null | undefined

/** Rows of a table. All have the same columns, the most important first. */
export type Rows = readonly Readonly<Record<string, Value>>[]

/** Returns one line `name  value` for each field, with the values aligned. */
export function fields(values: Readonly<Record<string, Value>>): string {
  const lines = Object.entries(values).map(([name, value]) => [printable(name), shown(value)] as const)
  const width = Math.max(...lines.map(([name]) => name.length))
  return lines.map(([name, value]) => `${name.padEnd(width)}  ${value}`).join('\n')
}

/** Returns a number with separators, such as `1,250,000`. */
export function count(number: number): string {
  return number.toLocaleString('en')
}

/** Returns a time (ISO 8601) as a date, which {@link fields} and {@link table} show; null stays null. */
export function dateOf(time: string | null): Date | null {
  return time === null ? null : new Date(time)
}

/** Returns a time on the clock of this machine, such as `2026-11-27 14:05`. */
export function localTime(date: Date): string {
  return `${date.toLocaleDateString('sv-SE')} ${date.toLocaleTimeString('sv-SE').slice(0, 5)}`
}

/** Returns entries of an object in the order of their keys. */
export function sorted<Entry>(object: Readonly<Record<string, Entry>>): [string, Entry][] {
  return Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1))
}

const gap = 2
/** Width to which the cells of a text may be cut, at least. */
const narrowest = 10
/** Name of a text that other columns give way to if it is the second column. */
const reason = 'ERROR'

interface Column {
  name: string
  cells: readonly string[]
  width: number
  /** The width that it needs at least. The first column names the row, and half a number or time misleads. */
  leastWidth: number
  isNumber: boolean
}

/**
 * Returns a table with a header line, or `empty` if there are no rows. In a limited width, long texts are cut first.
 * Then the last columns are left out; an ERROR in the second one has the room of all but one. If few columns remain,
 * each row is shown as fields instead.
 */
export function table(rows: Rows, empty: string, limit = Number.POSITIVE_INFINITY): string {
  const [first] = rows
  if (first === undefined) return empty
  const all = Object.keys(first).map((name, index) => columnOf(rows, name, index === 0))
  const [id, second] = all
  if (id && second?.name === reason)
    second.leastWidth = Math.max(second.leastWidth, Math.min(second.width, limit - id.width - 2 * gap - narrowest))
  const fitting = all.filter((_, index) => sum(all.slice(0, index + 1).map((each) => each.leastWidth)) <= limit)
  if (fitting.length < Math.min(3, all.length - 1)) return rows.map(fields).join('\n\n')
  const text = linesOf(fit(fitting, limit))
  const left = all.slice(fitting.length).map(({ name }) => name)
  return left.length === 0 ? text : `${text}\n\n${wrapped(`--wide also shows ${left.join(', ')}`, limit)}`
}

function wrapped(text: string, width: number): string {
  return text.replaceAll(new RegExp(`(?=.{${width + 1}})(.{1,${width}}) `, 'g'), '$1\n')
}

function columnOf(rows: Rows, name: string, isFirst: boolean): Column {
  const values = rows.map((row) => row[name])
  const cells = [printable(name), ...values.map(shown)]
  const width = Math.max(...cells.map((cell) => cell.length))
  const isText = !isFirst && values.some((value) => typeof value === 'string')
  const isNumber = values.some((value) => typeof value === 'number')
  return { name, cells, width, leastWidth: isText ? Math.min(width, narrowest) : width, isNumber }
}

/** Returns columns that fit into `limit`: the widest column that can be cut gets narrower first. */
function fit(columns: readonly Column[], limit: number): Column[] {
  const fitted = columns.map((column) => ({ ...column }))
  for (;;) {
    const excess = sum(fitted.map(({ width }) => width)) - limit
    const [widest] = fitted.filter((each) => each.width > each.leastWidth).sort((a, b) => b.width - a.width)
    if (excess <= 0 || widest === undefined) return fitted
    widest.width = Math.max(widest.leastWidth, widest.width - excess)
  }
}

/** Returns the width of columns with the gaps between them. */
function sum(widths: readonly number[]): number {
  return widths.reduce((total, width) => total + width + gap, -gap)
}

function linesOf(columns: readonly Column[]): string {
  const [names] = columns
  return (names?.cells ?? [])
    .map((_, line) =>
      columns
        .map(({ cells, width, isNumber }) => {
          const cell = cut(cells[line] ?? '', width)
          return isNumber ? cell.padStart(width) : cell.padEnd(width)
        })
        .join(' '.repeat(gap))
        .trimEnd(),
    )
    .join('\n')
}

/** Returns a text with at most `width` characters. */
export function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(0, width - 1))}…`
}

/** Returns a value as one line of printable text, `-` if there is none. A line break of the value becomes `↵`. */
function shown(value: Value): string {
  if (typeof value === 'number') return count(value)
  return printable(value instanceof Date ? localTime(value) : (value ?? '-').replaceAll(/\r\n?|\n/g, '↵'))
}
