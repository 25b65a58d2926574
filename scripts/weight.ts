import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { parseSync, Visitor } from 'oxc-parser'
import { root } from './modules.ts'

// Prints the weight of the tracked files: words to read, lines to change, functions that are too large.

const sourceTypes = new Set(['.ts', '.mjs', '.js', '.sql', '.css', '.wat', '.html'])
const longFunction = 50
const manyParameters = 4
const functionTypes = new Set(['FunctionExpression', 'ArrowFunctionExpression'])

interface File {
  path: string
  text: string
}

/** A place in a file, from one character to another. */
interface Span {
  start: number
  end: number
}

interface Weight {
  longFunctions: string[]
  wideFunctions: string[]
  replacedMethods: string[]
}

const files: readonly File[] = execFileSync('git', ['ls-files', '-z'], { cwd: root, encoding: 'utf8' })
  .split('\0')
  .filter((path) => path.endsWith('.md') || sourceTypes.has(extname(path)))
  .map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') }))

const documents = files.filter(({ path }) => path.endsWith('.md'))
const code = files.filter(({ path }) => !documents.some((each) => each.path === path))
const tests = code.filter(({ path }) => path.endsWith('.test.ts'))
const isSource = (path: string) =>
  /^(?:apps|packages)\//.test(path) && !/\.(?:test|fixture)\.ts$|\/testing\//.test(path)
const sources = code.filter(({ path }) => isSource(path))
const support = code.filter(
  (file) => !/^(?:scripts|infra)\//.test(file.path) && !isSource(file.path) && !tests.includes(file),
)

const linesOf = ({ text }: File) => text.split('\n').length - 1
const sum = (list: readonly File[], count: (file: File) => number) =>
  list.reduce((total, file) => total + count(file), 0).toLocaleString('en')

/**
 * Counts functions by their own lines and parameters, and functions that are assigned to members of other objects: most
 * replace a method. Members such as `ondata` are meant for it.
 */
function weigh({ path, text }: File, weight: Weight): void {
  const lineOf = (offset: number) => text.slice(0, offset).split('\n').length
  const measure = (node: Span & { params: readonly unknown[] }) => {
    const first = lineOf(node.start)
    const lines = lineOf(node.end) - first + 1
    if (lines > longFunction) weight.longFunctions.push(`${path}:${first} (${lines} lines)`)
    const parameters = node.params.length
    if (parameters > manyParameters) weight.wideFunctions.push(`${path}:${first} (${parameters} parameters)`)
  }
  const replace = (target: Span, method: Span) => {
    const [object, name] = [target, method].map(({ start, end }) => text.slice(start, end))
    if (!/^on[a-z]/.test(name ?? '')) weight.replacedMethods.push(`${path}:${lineOf(method.start)} (${object}.${name})`)
  }
  new Visitor({
    FunctionDeclaration: measure,
    FunctionExpression: measure,
    ArrowFunctionExpression: measure,
    AssignmentExpression: ({ left, right }) => {
      if (left.type !== 'MemberExpression' || left.object.type === 'ThisExpression') return
      if (functionTypes.has(right.type)) replace(left.object, left.property)
    },
    CallExpression: ({ callee, arguments: [target, methods] }) => {
      if (text.slice(callee.start, callee.end) !== 'Object.assign' || target === undefined) return
      if (methods?.type !== 'ObjectExpression') return
      for (const each of methods.properties)
        if (each.type === 'Property' && functionTypes.has(each.value.type)) replace(target, each.key)
    },
  }).visit(parseSync(path, text).program)
}

const weight: Weight = { longFunctions: [], wideFunctions: [], replacedMethods: [] }
for (const file of sources) if (file.path.endsWith('.ts')) weigh(file, weight)

const places: Record<string, readonly string[]> = {
  [`functions over ${longFunction} lines`]: weight.longFunctions,
  [`functions with more than ${manyParameters} parameters`]: weight.wideFunctions,
  'functions that are assigned to members of other objects': weight.replacedMethods,
}

const row = (name: string, figure: string | number) => console.log(`${name.padEnd(56)}${String(figure).padStart(8)}`)
row(
  'words of Markdown',
  sum(documents, ({ text }) => text.trim().split(/\s+/).length),
)
row('files of Markdown', documents.length)
row('lines of source (apps, packages; without tests)', sum(sources, linesOf))
row('lines of test support and laboratories (without tests)', sum(support, linesOf))
row('lines of tests', sum(tests, linesOf))
for (const [name, found] of Object.entries(places)) row(name, found.length)
for (const [name, found] of Object.entries(places)) console.log(`\n${name}:\n${found.join('\n')}`)

const longest = sources.toSorted((a, b) => linesOf(b) - linesOf(a)).slice(0, 5)
console.log(`\nlongest files of source:\n${longest.map((file) => `${file.path} (${linesOf(file)} lines)`).join('\n')}`)
