import { z } from 'zod'
import * as answers from '../packages/contract/src/answers.ts'

// The types of the contract, for the printers of each client's language. They are read from the schemas, so that no
// client copies a schema by hand.

/** A type that any language can express. */
export type Shape =
  | { kind: 'scalar'; name: 'string' | 'integer' | 'number' | 'boolean' | 'null' | 'unknown' }
  | { kind: 'literal'; value: unknown }
  | { kind: 'reference'; name: string }
  | { kind: 'list' | 'record'; item: Shape }
  | { kind: 'union'; choices: readonly Shape[] }
  | { kind: 'object'; title: string | undefined; members: readonly Member[] }

export interface Member {
  name: string
  shape: Shape
  isRequired: boolean
  description: string | undefined
}

/** Returns the type of each answer by its name: the type `ImportView` of the schema `importView`. */
export function answerShapes(): (readonly [name: string, shape: Shape])[] {
  return Object.entries(answers).flatMap(([name, value]) =>
    value instanceof z.ZodType ? [[typeNameOf(name), shapeOf(value)] as const] : [],
  )
}

const typeNameOf = (name: string) => `${name.charAt(0).toUpperCase()}${name.slice(1)}`

/** Types of schemas that others refer to, by the ID of the schema. */
const nameOfId = new Map(
  Object.entries(answers).flatMap(([name, value]) =>
    value instanceof z.ZodType ? [[value.meta()?.id, typeNameOf(name)] as const] : [],
  ),
)

/** Returns the type of a schema itself, even if others refer to it. */
export function shapeOf(schema: z.ZodType): Shape {
  const json = z.toJSONSchema(schema, { io: 'input' })
  return walk(json.$defs?.[schema.meta()?.id ?? ''] ?? json)
}

function walk(schema: z.core.JSONSchema._JSONSchema | undefined): Shape {
  if (typeof schema !== 'object') return { kind: 'scalar', name: 'unknown' }
  const { $ref, type, items, properties = {}, additionalProperties, required = [] } = schema
  const referred = $ref === undefined ? undefined : nameOfId.get($ref.split('/').at(-1))
  if (referred !== undefined) return { kind: 'reference', name: referred }
  const values = schema.enum ?? ('const' in schema ? [schema.const] : [])
  const literals = values.map((value) => ({ kind: 'literal', value }) as const)
  const choices = [...literals, ...(schema.anyOf ?? schema.oneOf ?? []).map(walk)]
  if (choices.length > 0) return unionOf(choices)
  if (type === 'array') return { kind: 'list', item: walk(Array.isArray(items) ? undefined : items) }
  if (type !== 'object')
    return unionOf([type ?? 'unknown'].flat().map((name) => ({ kind: 'scalar', name: scalarOf(name) })))
  if (typeof additionalProperties === 'object') return { kind: 'record', item: walk(additionalProperties) }
  const members = Object.entries(properties).map(([name, each]) => ({
    name,
    shape: walk(each),
    isRequired: required.includes(name),
    description: typeof each === 'object' ? each.description : undefined,
  }))
  return { kind: 'object', title: schema.title, members }
}

function unionOf(choices: readonly Shape[]): Shape {
  const [first, ...others] = choices
  return first !== undefined && others.length === 0 ? first : { kind: 'union', choices }
}

const scalars = ['string', 'integer', 'number', 'boolean', 'null'] as const

const scalarOf = (name: string) => scalars.find((each) => each === name) ?? 'unknown'
