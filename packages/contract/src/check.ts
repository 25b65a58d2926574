import { z } from 'zod'
import { notAnObject } from './errors.ts'
import { isJsonObject } from './json-object.ts'
import { limits } from './limits.ts'
import { nameProblem } from './name.ts'

/** A checked value, or the messages of its refusal. */
export type Checked<Value> = { value: Value } | { messages: string[] }

/**
 * Checks the body or the query of a request against its schema. Returns the value, or at most 100 messages in the order
 * of the schema's members.
 *
 * @example
 * ```ts
 * const users = z.object({ user_ids: listOf(nameOf(255), 'user IDs', 10_000) })
 * checkRequest(users, { user_ids: ['alice'] }) // → {"value": {"user_ids": ["alice"]}}
 * checkRequest(users, { user_ids: ['alice', ''] }) // → {"messages": ["user_ids[1] must not be empty"]}
 * ```
 */
export function checkRequest<Value>(schema: z.ZodType<Value>, given: unknown): Checked<Value> {
  if (!isJsonObject(given)) return { messages: [notAnObject] }
  const { data, error } = schema.safeParse(given)
  return error === undefined ? { value: data as Value } : { messages: messagesOf(error) }
}

/** A message names the place of its problem, unless `refuse` added it. */
function messagesOf({ issues }: z.ZodError): string[] {
  return issues.slice(0, limits.messagesPerAnswer).map(({ message, path, ...issue }) => {
    if (issue.code === 'custom' && issue.params?.isWhole === true) return message
    const place = path.map((step) => (typeof step === 'number' ? `[${step}]` : String(step))).join('')
    return place === '' ? message : `${place} ${message}`
  })
}

/**
 * Returns the schema of a member of a request that `parse` checks. The JSON Schema `described` documents it, as zod
 * cannot know what `parse` accepts. `parse` also decides what an absent member means.
 *
 * @example
 * ```ts
 * const flag = member((given) => (given === 'on' ? { value: true } : { messages: ['not on'] }), { type: 'string' })
 * checkRequest(z.object({ flag }), { flag: 'on' }) // → {"value": {"flag": true}}
 * checkRequest(z.object({ flag }), {}) // → {"messages": ["not on"]}
 * ```
 */
export function member<Value>(parse: (given: unknown) => Checked<Value>, described: z.core.JSONSchema.BaseSchema) {
  const schema = z
    .unknown()
    .optional()
    .transform((given, context): Value => {
      const parsed = parse(given)
      if ('value' in parsed) return parsed.value
      for (const message of parsed.messages) refuse(context, message)
      return z.NEVER
    })
  return schema.meta(described as z.core.GlobalMeta)
}

/**
 * Adds a whole message to those of a check: no name of a member precedes it.
 *
 * @example
 * ```ts
 * const never = z.object({}).superRefine((_, context) => refuse(context, 'no'))
 * checkRequest(never, {}) // → {"messages": ["no"]}
 * ```
 */
export function refuse(context: Pick<z.RefinementCtx, 'addIssue'>, message: string): void {
  context.addIssue({ code: 'custom', message, params: { isWhole: true } })
}

/**
 * Returns the schema of a name in a request, such as a user ID, of at most `maxLength` code points.
 *
 * @example
 * ```ts
 * nameOf(255).safeParse(' alice ').data // → " alice "
 * nameOf(255).safeParse('').success // → false
 * ```
 */
export function nameOf(maxLength: number) {
  return z
    .string('must be a string')
    .superRefine((text, context) => {
      const message = nameProblem(text, maxLength)
      if (message !== undefined) context.addIssue({ code: 'custom', message })
    })
    .meta({ minLength: 1, maxLength })
}

/**
 * Returns the schema of a list of 1 to `max` items; `noun` names them in messages. Items are checked only if the list
 * is short enough, because the messages about a long list would take time and memory.
 *
 * @example
 * ```ts
 * listOf(nameOf(3), 'keys', 2).safeParse(['a', 'b']).data // → ["a", "b"]
 * listOf(nameOf(3), 'keys', 1).safeParse(['', '']).error.issues[0].message // → "must hold at most 1 keys"
 * ```
 */
export function listOf<Item>(item: z.ZodType<Item>, noun: string, max: number) {
  return z
    .array(z.unknown(), `must be an array of ${noun}`)
    .min(1, 'must not be empty')
    .max(max, `must hold at most ${max} ${noun}`)
    .pipe(z.array(item))
    .meta({ items: documented(item) })
}

/**
 * Omits what is no rule of the API: the pattern beside a format, the range of every integer, and that keys are texts.
 */
function override({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { format, minimum, maximum } = jsonSchema
  if (format !== undefined) delete jsonSchema.pattern
  delete jsonSchema.propertyNames
  if (format === undefined && minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  if (format === undefined && maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
}

/**
 * Returns the JSON Schema of a part of a request, for the OpenAPI document.
 *
 * @example
 * ```ts
 * documented(nameOf(255)) // → {"type": "string", "minLength": 1, "maxLength": 255}
 * ```
 */
export function documented(schema: z.ZodType): Record<string, unknown> {
  const { $schema, ...json } = z.toJSONSchema(schema, { io: 'input', override })
  return json
}

/**
 * Returns the JSON Schemas of all schemas with an ID, by ID, as the bodies of requests or answers. They refer to each
 * other.
 *
 * @example
 * ```ts
 * z.object({ at: z.iso.datetime() }).meta({ id: 'Moment' })
 * documentedAll('output').Moment.properties // → {"at": {"type": "string", "format": "date-time"}}
 * ```
 */
export function documentedAll(io: 'input' | 'output'): Record<string, Record<string, unknown>> {
  const uri = (id: string) => `#/components/schemas/${id}`
  const { schemas } = z.toJSONSchema(z.globalRegistry, { io, uri, override, unrepresentable: 'any' })
  return Object.fromEntries(Object.entries(schemas).map(([id, { $schema, $id, id: _, ...json }]) => [id, json]))
}
