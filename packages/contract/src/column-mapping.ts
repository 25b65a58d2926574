import { z } from 'zod'
import { userIdColumn } from './import-messages.ts'
import { limits } from './limits.ts'
import { isLonger, textProblem } from './name.ts'
import { valueTypes } from './value-type.ts'

/** How the values of a column are written. Dates and times may be followed by the offset of times that have none. */
const valueForm = /^(?:as-is|decimal-comma|(?:day-first|month-first|date-time)(?:[+-]\d\d:\d\d)?)$/

/** Maximum number of columns in a mapping. */
const mappedColumns = 500

const text = z.string().refine((text) => textProblem(text) === undefined)

// Checks all names as one text, because a check of each of 50,000 names takes 100 ms.
const names = z
  .array(z.string())
  .min(1)
  .refine((columns) => {
    const header = columns.join(',')
    return Buffer.byteLength(header) <= limits.headerBytes && textProblem(header) === undefined
  })

const mapping = z
  .array(
    z.strictObject({
      name: text,
      key: text.refine((key) => !isLonger(key, limits.keyLength)),
      left_out: z.boolean(),
      form: z.string().regex(valueForm),
      type: z.enum(valueTypes).optional(),
    }),
  )
  .min(1)
  .max(mappedColumns)

/**
 * How an import treats a column of a file: the key, or whether it is left out, the form of its values, and the type
 * that a person has chosen for the key. The mapping itself has no values.
 */
export type MappedColumn = z.infer<typeof mapping>[number]

/**
 * Parses the column names of a file from JSON. Returns undefined if the JSON is no list of texts, or if the names have
 * more bytes than a header may have.
 *
 * @example
 * ```ts
 * parseColumnNames('["user_id","E-Mail"]') // → ["user_id", "E-Mail"]
 * ```
 */
export function parseColumnNames(json: string): string[] | undefined {
  return parsed(names, json)
}

/**
 * Parses the mapping of a file's columns from JSON. Returns undefined if the JSON is no mapping, if it names a column
 * that is not among `columns`, or if no column becomes `user_id`. The last condition refuses nearly every file without
 * a header. The first row of such a file has a person's values instead of names.
 *
 * @example
 * ```ts
 * const column = { name: 'ID', key: 'user_id', left_out: false, form: 'as-is' }
 * parseColumnMapping(JSON.stringify([column]), ['ID', 'age']).length // → 1
 * parseColumnMapping(JSON.stringify([column]), ['age']) // → undefined
 * ```
 */
export function parseColumnMapping(json: string, columns: readonly string[]): MappedColumn[] | undefined {
  const found = parsed(mapping, json)
  const mapped = new Map(found?.map((column) => [column.name, column]))
  const keyOf = (name: string) => (mapped.get(name)?.left_out ? undefined : (mapped.get(name)?.key ?? name))
  const hasUserId = columns.some((name) => keyOf(name) === userIdColumn)
  const known = new Set(columns)
  return hasUserId && found?.every(({ name }) => known.has(name)) ? found : undefined
}

function parsed<Value>(schema: z.ZodType<Value>, json: string): Value | undefined {
  try {
    return schema.safeParse(JSON.parse(json)).data
  } catch {
    return undefined
  }
}
