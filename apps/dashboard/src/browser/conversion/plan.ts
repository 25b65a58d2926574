import type { Encoding } from './encodings.ts'
import type { Dialect, SourceRecord } from './record-reader.ts'
import { convertValue, type ValueForm } from './value-forms.ts'

/** What becomes of a column of a file. */
export interface ColumnPlan {
  /** Name of the column in the file. */
  name: string
  /** Name of the column in the converted file: the profile key, or `user_id`. */
  key: string
  isLeftOut: boolean
  form: ValueForm
}

/** How a file is read, and what becomes of its columns. */
export interface Plan {
  encoding: Encoding
  dialect: Dialect
  /** Number of characters before the first record. */
  prefixLength: number
  columns: readonly ColumnPlan[]
  /** Cells with this text stay as they are. */
  clearMarker: string
}

/** Returns the plan of a column that stays as it is. */
export function unchangedColumn(name: string): ColumnPlan {
  return { name, key: name, isLeftOut: false, form: 'as-is' }
}

export function isChanged({ name, key, isLeftOut, form }: ColumnPlan): boolean {
  return key !== name || isLeftOut || form !== 'as-is'
}

/** Whether records must be written anew. Otherwise an import can read the text of the file as it is. */
export function changesRecords({ dialect, prefixLength, columns }: Plan): boolean {
  return dialect.separator !== ',' || dialect.lineBreak !== '\n' || prefixLength > 0 || columns.some(isChanged)
}

/** Whether the file must be converted. Otherwise it is sent as it is. */
export function needsConversion(plan: Plan): boolean {
  return plan.encoding !== 'utf-8' || changesRecords(plan)
}

/** Returns two functions: `header` converts the header, and `row` converts a row. */
export function recordConverters({ columns, clearMarker }: Plan): Record<'header' | 'row', Converter> {
  if (!columns.some(isChanged)) return { header: (record) => record, row: (record) => record }
  const kept = columns.map((column, index) => ({ ...column, index })).filter(({ isLeftOut }) => !isLeftOut)
  const converted = (cell: string, form: ValueForm) =>
    cell === clearMarker ? cell : (convertValue(cell, form) ?? cell)
  return {
    header: () => ({ cells: kept.map(({ key }) => key) }),
    row: (record) => {
      if (record.problem === 'too long') return record
      const further = record.cells.slice(columns.length)
      const cells = kept.map(({ index, form }) => converted(record.cells[index] ?? '', form))
      return { ...record, cells: [...cells, ...further] }
    },
  }
}

type Converter = (record: SourceRecord) => SourceRecord
