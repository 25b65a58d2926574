import type { JsonSchema } from './document-types.ts'

/** The keywords of JSON Schema that the page shows. */
interface Schema {
  $ref?: string
  anyOf?: Schema[]
  oneOf?: Schema[]
  type?: string | string[]
  const?: unknown
  enum?: unknown[]
  properties?: Record<string, Schema>
  required?: string[]
  additionalProperties?: Schema | boolean
  items?: Schema
  description?: string
  format?: string
  minLength?: number
  maxLength?: number
  minItems?: number
  maxItems?: number
  minimum?: number
  maximum?: number
}

/** A member of a body, at its path: `held.reasons`, `warnings[].key`, `types.*` for any key. */
export interface Member {
  path: string
  type: string
  isRequired: boolean
  description: string
}

/** Returns all members of a body. The members of an object or a list follow it. */
export function membersOf(schema: JsonSchema, schemas: Record<string, JsonSchema>): Member[] {
  const choicesOf = (given: Schema): Schema[] => {
    const referred = schemas[given.$ref?.split('/').at(-1) ?? '']
    if (referred !== undefined) return choicesOf(referred)
    return (given.anyOf ?? given.oneOf)?.flatMap(choicesOf) ?? [given]
  }
  const typeOf = (given: Schema): string => {
    const types = choicesOf(given).flatMap((choice) => {
      const values = choice.enum ?? ('const' in choice ? [choice.const] : [])
      if (values.length > 0) return values.map((value) => JSON.stringify(value))
      return [choice.type ?? []].flat().map((type) => {
        if (type === 'null') return type
        const inner = choice.items ?? choice.additionalProperties
        return `${type}${typeof inner === 'object' ? ` of ${typeOf(inner)}` : ''}${limitsOf(choice)}`
      })
    })
    return [...new Set(types)].join(' | ')
  }
  const within = (given: Schema, path: string): Member[] => {
    const choices = choicesOf(given)
    const names = new Set(choices.flatMap(({ properties = {} }) => Object.keys(properties)))
    const members = [...names].flatMap((name) => memberOf(choices, name, path === '' ? name : `${path}.${name}`))
    const inner = choices.flatMap(({ items, additionalProperties: values }) => [
      ...(items === undefined ? [] : within(items, `${path}[]`)),
      ...(typeof values === 'object' ? within(values, `${path}.*`) : []),
    ])
    return [...members, ...inner]
  }
  const memberOf = (choices: Schema[], name: string, path: string): Member[] => {
    const having = choices.filter(({ properties = {} }) => name in properties)
    const forms = having.flatMap(({ properties = {} }) => properties[name] ?? [])
    const isRequired = having.every(({ required = [] }) => required.includes(name))
    const member = { anyOf: forms }
    return [{ path, type: typeOf(member), isRequired, description: meaningOf(forms) }, ...within(member, path)]
  }
  return within(schema, '')
}

/** Returns the description of a member, or those of its types. */
function meaningOf(forms: Schema[]): string {
  const texts = forms.map(({ type, description }) =>
    forms.length > 1 && description ? `${type}: ${description}` : description,
  )
  return texts.filter((text) => text).join(' ')
}

/** Returns the format and the limits of a value. A lower limit alone says little: most counts begin at 0. */
function limitsOf(schema: Schema): string {
  const { format, minLength, maxLength, minItems, maxItems, minimum, maximum } = schema
  const range = (from = 0, to: number | undefined, unit: string) =>
    to === undefined ? [] : `${from === to ? '' : `${from} to `}${to}${unit}`
  const ranges = [
    range(minLength, maxLength, ' characters'),
    range(minItems, maxItems, ' items'),
    range(minimum, maximum, ''),
  ]
  const limits = [format ?? [], ranges].flat(2)
  return limits.length === 0 ? '' : ` (${limits.join(', ')})`
}
