import { stringify } from 'yaml'

// Renders the subset of Helm's template language that infra/helm uses: values by path, variables, `range` over a map or
// a list, `if` with `not`, `and`, `or`, `eq`, `has`, and the functions `fail`, `quote`, `toYaml` and `nindent`.
// Everything else is an error, so that the tests do not silently skip other constructs.

/** Variables by name. `$` is the root, where paths without a variable also begin. */
type Scope = ReadonlyMap<string, unknown>

type Part = { text: string } | { action: string; body: Part[] }

/** Renders a template with the root object that Helm passes to it. Throws if the template uses any other construct. */
export function renderTemplate(template: string, root: object): string {
  const tokens = tokensOf(template)
  const parts = parse(tokens)
  if (tokens.length > 0) throw new Error('unexpected end')
  return render(parts, new Map([['$', root]]))
}

/** Splits a template into texts and actions. A dash inside the braces removes the adjacent white space. */
function tokensOf(template: string): { text?: string; action?: string }[] {
  const tokens: { text?: string; action?: string }[] = []
  let rest = template
  let eatsLeft = false
  for (;;) {
    const match = /\{\{(-?)\s*(.*?)\s*(-?)\}\}/s.exec(rest)
    let text = match === null ? rest : rest.slice(0, match.index)
    if (eatsLeft) text = text.trimStart()
    if (match?.[1] === '-') text = text.trimEnd()
    tokens.push({ text })
    if (match === null) return tokens
    tokens.push({ action: match[2] ?? '' })
    eatsLeft = match[3] === '-'
    rest = rest.slice(match.index + match[0].length)
  }
}

/** Consumes tokens up to the `end` of the current block. */
function parse(tokens: { text?: string; action?: string }[]): Part[] {
  const parts: Part[] = []
  for (let token = tokens.shift(); token !== undefined; token = tokens.shift()) {
    const { text, action } = token
    if (action === 'end') return parts
    if (action === undefined) parts.push({ text: text ?? '' })
    else parts.push({ action, body: /^(range|if)\b/.test(action) ? parse(tokens) : [] })
  }
  return parts
}

function render(parts: readonly Part[], scope: Scope): string {
  return parts.map((part) => ('text' in part ? part.text : renderAction(part.action, part.body, scope))).join('')
}

function renderAction(action: string, body: readonly Part[], scope: Scope): string {
  const [, condition] = /^if (.*)$/.exec(action) ?? []
  if (condition !== undefined) return isTrue(evaluate(condition, scope)) ? render(body, scope) : ''
  const [, key, item, list] = /^range (?:(\$\w+), )?(\$\w+) := (\S+)$/.exec(action) ?? []
  if (item === undefined || list === undefined) return String(evaluate(action, scope))
  const values = evaluate(list, scope)
  if (typeof values !== 'object' || values === null) throw new Error(`${list} cannot be iterated`)
  // Helm iterates over a map in the order of its keys.
  const entries = Array.isArray(values)
    ? [...values.entries()]
    : Object.entries(values).toSorted(([a], [b]) => (a < b ? -1 : 1))
  return entries
    .map(([name, value]) =>
      render(body, new Map([...scope, [item, value], ...(key === undefined ? [] : [[key, name] as const])])),
    )
    .join('')
}

function isTrue(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length > 0
  return Boolean(value)
}

/** Evaluates a pipeline: the value before a bar is the last argument of the function after it. */
function evaluate(pipeline: string, scope: Scope): unknown {
  let value: unknown
  for (const [index, command] of pipeline.split(' | ').entries()) {
    value = call(wordsOf(command), scope, index === 0 ? [] : [value])
  }
  return value
}

/** Splits a command into words. A group in brackets is one word, and is evaluated as a pipeline. */
function wordsOf(command: string): string[] {
  return command.match(/\((?:[^()]|\([^()]*\))*\)|"[^"]*"|\S+/g) ?? []
}

function call([name = '', ...words]: readonly string[], scope: Scope, last: readonly unknown[]): unknown {
  const args = () => [...words.map((word) => operand(word, scope)), ...last]
  switch (name) {
    case 'not':
      return !isTrue(args()[0])
    case 'and':
      return args().every(isTrue)
    case 'or':
      return args().some(isTrue)
    case 'eq':
      return args()[0] === args()[1]
    case 'has': {
      const [item, list] = args()
      return Array.isArray(list) && list.includes(item)
    }
    case 'fail':
      throw new Error(String(args()[0]))
    case 'quote':
      return JSON.stringify(String(args()[0]))
    case 'toYaml':
      return stringify(args()[0]).trimEnd()
    case 'nindent':
      return `\n${String(args()[1]).replaceAll(/^/gm, ' '.repeat(Number(args()[0])))}`
    default:
      if (words.length > 0 || last.length > 0) throw new Error(`unsupported function ${name}`)
      return operand(name, scope)
  }
}

function operand(word: string, scope: Scope): unknown {
  if (word.startsWith('(')) return evaluate(word.slice(1, -1), scope)
  if (word.startsWith('"')) return JSON.parse(word)
  if (/^\d+$/.test(word)) return Number(word)
  const [, variable = '$', path = ''] = /^(\$\w*)?((?:\.\w+)*)$/.exec(word) ?? []
  if (word !== `${word.startsWith('$') ? variable : ''}${path}`) throw new Error(`unsupported expression ${word}`)
  if (!scope.has(variable)) throw new Error(`there is no variable ${variable}`)
  return path
    .split('.')
    .slice(1)
    .reduce<unknown>(
      (value, name) => (typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined),
      scope.get(variable),
    )
}
