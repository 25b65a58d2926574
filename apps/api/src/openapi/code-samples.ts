import type { CodeSample, Operation } from './document-types.ts'

/** A request as the samples show it. */
interface SampleRequest {
  method: string
  url: string
  headers: SampleHeader[]
  /** Media type of the body; undefined without a body. */
  type?: string | undefined
  /** The body, if it is JSON. Otherwise it is a file. */
  json?: unknown
}

/** A header, with its value as each language writes it. */
interface SampleHeader {
  name: string
  shell: string
  javaScript: string
  python: string
  /** The module that the value in Python needs. */
  module?: string
}

const token: SampleHeader = {
  name: 'X-Service-Token',
  shell: '$TOKEN',
  javaScript: 'process.env.TOKEN',
  python: 'os.environ["TOKEN"]',
  module: 'os',
}

/** Each run of an example is a request of its own, so it has a key of its own. */
const idempotencyKey: SampleHeader = {
  name: 'Idempotency-Key',
  shell: '$(openssl rand -hex 16)',
  javaScript: 'crypto.randomUUID()',
  python: 'str(uuid.uuid4())',
  module: 'uuid',
}

const typeHeader = (type: string): SampleHeader => {
  const quoted = JSON.stringify(type)
  return { name: 'Content-Type', shell: type, javaScript: quoted, python: quoted }
}

/**
 * Returns the documented example of a request in curl, JavaScript (Node) and Python, without libraries. The samples
 * read the token from the environment variable `TOKEN`.
 */
export function codeSamples(apiUrl: string, method: string, path: string, operation: Operation): CodeSample[] {
  const { parameters = [], requestBody, security } = operation
  const examples = new Map(parameters.map(({ name, example }) => [name, String(example)]))
  const [type, content] = Object.entries(requestBody?.content ?? {})[0] ?? []
  const request = {
    method,
    url: apiUrl + path.replaceAll(/\{(\w+)\}/g, (_, name) => encodeURIComponent(examples.get(name) ?? '')),
    headers: [
      ...(security.length > 0 ? [token] : []),
      ...(examples.has(idempotencyKey.name) ? [idempotencyKey] : []),
      ...(type === undefined ? [] : [typeHeader(type)]),
    ],
    type,
    json: type === 'application/json' ? Object.values(content?.examples ?? {})[0]?.value : undefined,
  }
  return [
    { lang: 'Shell', label: 'curl', source: curl(request) },
    { lang: 'JavaScript', label: 'JavaScript', source: javaScript(request) },
    { lang: 'Python', label: 'Python', source: python(request) },
  ]
}

function curl({ method, url, headers, type, json }: SampleRequest): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  const implied = type === undefined ? 'GET' : 'POST'
  return [
    `curl -i ${method === implied ? '' : `-X ${method} `}${quoted(url)}`,
    ...headers.map(({ name, shell }) => `-H "${name}: ${shell}"`),
    ...(json === undefined ? [] : [`-d ${quoted(indented(JSON.stringify(json, null, 2), 2))}`]),
    ...(type === undefined || json !== undefined ? [] : [`--data-binary @${fileOf(type)}`]),
  ].join(' \\\n  ')
}

function javaScript({ method, url, headers, type, json }: SampleRequest): string {
  const body =
    json === undefined
      ? `await openAsBlob("${fileOf(type)}")`
      : `JSON.stringify(${indented(JSON.stringify(json, null, 2), 2)})`
  const options = [
    ...(method === 'GET' ? [] : [`method: "${method}"`]),
    ...(headers.length === 0
      ? []
      : [`headers: {\n${headers.map((each) => `    "${each.name}": ${each.javaScript},\n`).join('')}  }`]),
    ...(type === undefined ? [] : [`body: ${body}`]),
  ].map((option) => `  ${option},\n`)
  const list = options.length === 0 ? '' : `, {\n${options.join('')}}`
  return [
    type === undefined || json !== undefined ? '' : 'import { openAsBlob } from "node:fs"\n\n',
    `const response = await fetch(${JSON.stringify(url)}${list})\n`,
    'console.log(response.status, await response.text())',
  ].join('')
}

function python({ method, url, headers, type, json }: SampleRequest): string {
  const data =
    json === undefined ? `open("${fileOf(type)}", "rb").read()` : `json.dumps(${indented(literal(json), 4)}).encode()`
  const options = [
    JSON.stringify(url),
    `method="${method}"`,
    ...(headers.length === 0
      ? []
      : [`headers={\n${headers.map((each) => `        "${each.name}": ${each.python},\n`).join('')}    }`]),
    ...(type === undefined ? [] : [`data=${data}`]),
  ].map((option) => `    ${option},\n`)
  const modules = [json === undefined ? [] : 'json', headers.map((each) => each.module ?? []), 'urllib.request'].flat(2)
  return [
    ...modules.map((name) => `import ${name}\n`),
    `\nrequest = urllib.request.Request(\n${options.join('')})\n`,
    'with urllib.request.urlopen(request) as response:\n    print(response.status, response.read().decode())',
  ].join('')
}

/** Returns a JSON value as Python writes it. */
function literal(json: unknown): string {
  const words: Record<string, string> = { true: 'True', false: 'False', null: 'None' }
  return JSON.stringify(json, null, 4).replaceAll(
    /"(?:\\.|[^"\\])*"|true|false|null/g,
    (found) => words[found] ?? found,
  )
}

const indented = (text: string, by: number) => text.replaceAll('\n', `\n${' '.repeat(by)}`)

const fileOf = (type: string | undefined) => (type === 'application/gzip' ? 'people.csv.gz' : 'people.csv')
