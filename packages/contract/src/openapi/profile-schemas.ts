import { limits } from '../limits.ts'
import type { ValueType } from '../value-type.ts'
import type { JsonSchema } from './document-types.ts'

const key: JsonSchema = { type: 'string', minLength: 1, maxLength: limits.keyLength }

const maxPrecise = Number.MAX_SAFE_INTEGER

/**
 * The JSON values of each type. They are the same in requests and answers, except for datetimes. A schema cannot tell
 * how a number is written.
 */
const values: Readonly<Record<Exclude<ValueType, 'datetime'>, JsonSchema>> = {
  string: { type: 'string', maxLength: limits.stringLength },
  int: {
    type: 'integer',
    description: 'Digits without a point or an exponent.',
    format: 'int64',
    minimum: -maxPrecise,
    maximum: maxPrecise,
  },
  decimal: {
    type: 'number',
    description: `Without a point and an exponent, it must be an int within ±${maxPrecise}.`,
    format: 'double',
  },
}

const sentDatetime: JsonSchema = {
  type: 'string',
  description: 'ISO 8601 with an offset. Seconds are optional.',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}([.,][0-9]+)?)?(Z|[+-][0-9]{2}(:[0-9]{2})?)$',
}

const answeredDatetime: JsonSchema = {
  type: 'string',
  description: 'In UTC.',
  pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}[.][0-9]{3}$',
}

/** A profile entry of a request. Other members are ignored. */
export const profileEntry: JsonSchema = {
  description: 'A value for a key. Its JSON type depends on `type`.',
  oneOf: entriesByType(sentDatetime),
}

/** An entry of the answer. */
const appliedEntry: JsonSchema = {
  description: 'An applied value.',
  oneOf: entriesByType(answeredDatetime).map((entry) => ({ ...entry, additionalProperties: false })),
}

/** Answer of `POST /v2/user_profiles`. */
export const profileUpdateAnswer: JsonSchema = {
  type: 'object',
  properties: {
    user_id: { type: 'string', minLength: 1, maxLength: limits.userIdLength },
    user_profiles: { type: 'array', minItems: 1, items: appliedEntry },
  },
  required: ['user_id', 'user_profiles'],
  additionalProperties: false,
}

/** Returns one schema for each type. Code generators name them by their titles. */
function entriesByType(datetime: JsonSchema): JsonSchema[] {
  return Object.entries({ ...values, datetime }).map(([type, value]) => ({
    title: `${type} entry`,
    type: 'object',
    properties: { key, type: { type: 'string', const: type }, value },
    required: ['key', 'type', 'value'],
  }))
}
