import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { importRequest, limits, type WebhookBody, webhookEvents, webhookTest } from '../packages/contract/src/index.ts'
import { answerShapes, type Member, type Shape, shapeOf } from './contract-types.ts'
import { root } from './modules.ts'

// The part of the Python client that is made from the contract:
//   node scripts/python-types.ts --write

export const pythonClient = join(root, 'packages/python-client/sluice_client.py')

/** Columns of a line. */
const width = 99

const begin = '# contract: node scripts/python-types.ts --write\n'
const end = '# end of contract\n'

const webhookEvent = z.object({
  type: z.enum([...webhookEvents, webhookTest]),
  timestamp: z.string(),
  data: z.record(z.string(), z.unknown()),
}) satisfies z.ZodType<WebhookBody>

/** What the client uses: types of answers, the options of the first request, the body of a webhook. */
const used = ['ImportView', 'ExportView', 'ProfileEntry', 'ProfileUpdateAnswer', 'ImportMembers', 'WebhookEvent']

/** Types by name. Members of the first request that the client sets itself are left out. */
const shapes = new Map([
  ...answerShapes(),
  ['ImportMembers', importMembers()] as const,
  ['WebhookEvent', shapeOf(webhookEvent)] as const,
])

function importMembers(): Shape {
  const request = shapeOf(importRequest)
  if (request.kind !== 'object') throw new Error('the first request is not an object')
  const members = request.members.filter(({ name }) => name !== 'checksum' && name !== 'byte_size')
  return { ...request, members }
}

/** Returns the client's text with the types and limits of the contract made anew. */
export function withContract(text: string): string {
  const [preceding, rest] = text.split(begin)
  const following = rest?.split(end)[1]
  if (preceding === undefined || following === undefined) throw new Error('the Python client has no markers')
  return `${preceding}${begin}${contract()}${end}${following}`
}

function contract(): string {
  const declarations = new Declarations()
  for (const name of used) declarations.add(name)
  const numbers = `_USER_IDS_PER_REQUEST = ${limits.userIdsPerRequest}\n_FILE_NAME_LENGTH = ${limits.fileNameLength}\n`
  return `${numbers}${declarations.aliases}${[...declarations.classes].join('')}\n\n`
}

/** The declarations of types in Python. A type follows the types that it names. */
class Declarations {
  readonly classes = new Set<string>()
  aliases = ''
  readonly #names = new Set<string>()
  readonly #nameOfBody = new Map<string, string>()

  /** Declares a type of the contract with all types that it names. */
  add(name: string): void {
    const shape = shapes.get(name)
    if (shape === undefined) throw new Error(`the contract has no type ${name}`)
    if (this.#names.has(name)) return
    this.#names.add(name)
    if (shape.kind === 'object') this.#declare(name, shape.members)
    else this.aliases += wrapped(`${name} = ${this.#typeOf(shape, name)}`, 0)
  }

  /** Returns a type. `path` names an object or a choice of literals that has no name of its own. */
  #typeOf(shape: Shape, path: string): string {
    switch (shape.kind) {
      case 'scalar':
        return { string: 'str', integer: 'int', number: 'float', boolean: 'bool', null: 'None', unknown: 'Any' }[
          shape.name
        ]
      case 'literal':
        return literals([shape])
      case 'reference':
        this.add(shape.name)
        return shape.name
      case 'list':
        return `List[${this.#typeOf(shape.item, path)}]`
      case 'record':
        return `Dict[str, ${this.#typeOf(shape.item, path)}]`
      case 'object':
        return this.#declare(shape.title === undefined ? path : pascal(shape.title), shape.members)
      case 'union':
        return this.#unionOf(shape.choices, path)
    }
  }

  #unionOf(choices: readonly Shape[], path: string): string {
    if (choices.every(({ kind }) => kind === 'literal')) return this.#named(literals(choices)) ?? literals(choices)
    const values = choices.filter(({ kind }) => kind === 'literal')
    const others = choices.filter((each) => each.kind !== 'literal' && !isNull(each))
    const types = [...(values.length > 0 ? [literals(values)] : []), ...others.map((each) => this.#typeOf(each, path))]
    const type = types.length === 1 ? types[0] : `Union[${types.join(', ')}]`
    return choices.some(isNull) ? `Optional[${type}]` : `${type}`
  }

  /** Returns the name of the contract's type with these literals, which is declared. */
  #named(type: string): string | undefined {
    const [name] = [...shapes].find(([, { kind, ...its }]) => {
      return kind === 'union' && 'choices' in its && isLiterals(its.choices) && literals(its.choices) === type
    }) ?? [undefined]
    if (name === undefined) return undefined
    if (!this.#names.has(name)) {
      this.#names.add(name)
      this.aliases += wrapped(`${name} = ${type}`, 0)
    }
    return name
  }

  /** Declares a dictionary. Python 3.9 needs a class of its own for the members that are always there. */
  #declare(name: string, members: readonly Member[]): string {
    const required = members.filter(({ isRequired }) => isRequired)
    const optional = members.filter(({ isRequired }) => !isRequired)
    const bodyOf = (some: readonly Member[]) =>
      some.map(({ name: key, shape, description }) => {
        const comment = description === undefined ? '' : commented(sentence(description))
        return `${comment}${wrapped(`${key}: ${this.#typeOf(shape, `${name}${pascal(key)}`)}`, 4)}`
      })
    const first = bodyOf(required).join('')
    const second = bodyOf(optional).join('')
    // Parts of one schema that are alike have one class.
    const known = this.#nameOfBody.get(`${first}|${second}`)
    if (known !== undefined) return known
    this.#nameOfBody.set(`${first}|${second}`, name)
    const base = first !== '' && second !== '' ? `_${name}` : name
    if (first !== '') this.classes.add(`\n\nclass ${base}(TypedDict):\n${first}`)
    if (second !== '')
      this.classes.add(`\n\nclass ${name}(${base === name ? 'TypedDict' : base}, total=False):\n${second}`)
    return name
  }
}

/** Returns a description without the note that documents of the API need. */
const sentence = (description: string) =>
  description.replace(/^Extension of Sluice: (.)/, (_, first: string) => first.toUpperCase())

const isNull = (shape: Shape) => shape.kind === 'scalar' && shape.name === 'null'

const isLiterals = (choices: readonly Shape[]) => choices.every(({ kind }) => kind === 'literal')

function literals(choices: readonly Shape[]): string {
  const values = choices.flatMap((each) => (each.kind === 'literal' ? [each.value] : []))
  return `Literal[${values.map((value) => (value === true ? 'True' : JSON.stringify(value))).join(', ')}]`
}

const pascal = (name: string) => name.replaceAll(/(?:^|[_ ])([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Returns an indented statement. If it is too long, its outermost bracket has lines of its own. */
function wrapped(statement: string, indent: number): string {
  const space = ' '.repeat(indent)
  const [, opening, inner] = /^(.*?\[)(.*)\]$/.exec(statement) ?? []
  if (indent + statement.length <= width || opening === undefined || inner === undefined)
    return `${space}${statement}\n`
  return `${space}${opening}\n${filled(inner, `${space}    `)}${space}]\n`
}

const commented = (text: string) => filled(text, '    # ')

/** Breaks a text into lines that begin with `start`. */
function filled(text: string, start: string): string {
  const lines: string[] = []
  for (const word of text.split(' ')) {
    const line = `${lines.at(-1)} ${word}`
    if (lines.length > 0 && line.length <= width) lines[lines.length - 1] = line
    else lines.push(`${start}${word}`)
  }
  return lines.map((line) => `${line}\n`).join('')
}

if (process.argv[1] === fileURLToPath(import.meta.url) && process.argv.includes('--write'))
  writeFileSync(pythonClient, withContract(readFileSync(pythonClient, 'utf8')))
