import type { ValueType } from '@sluice/contract'
import { escapeLiteral } from '@sluice/database'

/** A column of an export besides `user_id`. */
export interface ExportColumn {
  key: string
  /** Undefined for a key whose values are left out. */
  type: ValueType | undefined
}

/**
 * Returns the `copy` that writes the rows of an export as CSV (second-day.md §3, Export file): every registered user of
 * the app, by ID, with the values of these keys.
 *
 * `copy` accepts no parameters, so the keys are literals.
 */
export function copyStatement(appId: number, columns: readonly ExportColumn[]): string {
  const cells = columns.map(({ key, type }) => cell(`p.attributes -> ${escapeLiteral(key)}`, type))
  // Large profiles are stored compressed, or out of line. `||` unpacks a profile once, and `offset 0` keeps the planner
  // from repeating it for each key.
  return `copy (
    select ${['p.user_id', ...cells].join(', ')}
    from (
      select u.user_id, p.attributes || ''::hstore as attributes
      from users u left join profiles p on p.app_id = u.app_id and p.user_id = u.user_id
      where u.app_id = ${Math.trunc(appId)} order by u.user_id
      offset 0
    ) p
  ) to stdout with (format csv)`
}

/** Returns the SQL expression of a cell, in the form that an import reads as the same value. */
function cell(value: string, type: ExportColumn['type']): string {
  switch (type) {
    case undefined:
      return 'null'
    case 'string':
      // Writes an empty cell: an import does not distinguish an empty string from a missing value.
      return `nullif(${value}, '')`
    case 'int':
      return value
    case 'decimal':
      // A decimal without a point would be read as an int, whose range is smaller.
      return `${value} || case when ${value} like '%.%' then '' else '.0' end`
    case 'datetime':
      return `replace(${value}, ' ', 'T') || 'Z'`
  }
}
