import type { z } from 'zod'

/** How a setting is read from the environment. */
export interface Setting<Schema extends z.ZodType> {
  schema: Schema
  /** The default value, as the text of a variable. A setting without a default is required, unless it is `optional`. */
  default?: string
  optional?: true
  /** The value is or contains a secret. It may also be in a file that `NAME_FILE` names. */
  secret?: true
  description: string
}

/** Defines a setting that a process cannot start without. */
export const required = <S extends z.ZodType>(schema: S, description: string): Setting<S> => ({ schema, description })
/** Defines a setting with a default, which is text as in the environment. */
export const withDefault = <S extends z.ZodType>(schema: S, value: string, description: string): Setting<S> => ({
  schema,
  default: value,
  description,
})
/** Defines a setting that may be unset. */
export const optional = <S extends z.ZodType>(schema: S, description: string): Setting<z.ZodOptional<S>> => ({
  schema: schema.optional(),
  optional: true,
  description,
})

export const secret = <S extends Setting<z.ZodType>>(setting: S) => ({ ...setting, secret: true as const })
