import type { CodeSample, Operation } from './document-types.ts'

/** A request as the samples show it. */
interface SampleRequest {
  method: string
  url: string
  needsToken: boolean
  /** Media type of the body; undefined without a body. */
  type?: string | undefined
  /** The body, if it is JSON. Otherwise it is a file. */
  json?: unknown
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
    needsToken: security.length > 0,
    type,
    json: type === 'application/json' ? Object.values(content?.examples ?? {})[0]?.value : undefined,
  }
  return [
    { lang: 'Shell', label: 'curl', source: curl(request) },
    { lang: 'JavaScript', label: 'JavaScript', source: javaScript(request) },
    { lang: 'Python', label: 'Python', source: python(request) },
  ]
}

function curl({ method, url, needsToken, type, json }: SampleRequest): string {
  const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`
  return [
    `curl -i ${method === 'DELETE' ? '-X DELETE ' : ''}${quoted(url)}`,
    ...(needsToken ? ['-H "X-Service-Token: $TOKEN"'] : []),
    ...(type === undefined ? [] : [`-H ${quoted(`Content-Type: ${type}`)}`]),
    ...(json === undefined ? [] : [`-d ${quoted(indented(JSON.stringify(json, null, 2), 2))}`]),
    ...(type === undefined || json !== undefined ? [] : [`--data-binary @${fileOf(type)}`]),
  ].join(' \\\n  ')
}

function javaScript({ method, url, needsToken, type, json }: SampleRequest): string {
  const headers = [
    ...(needsToken ? ['"X-Service-Token": process.env.TOKEN'] : []),
    ...(type === undefined ? [] : [`"Content-Type": ${JSON.stringify(type)}`]),
  ]
  const body =
    json === undefined
      ? `await openAsBlob("${fileOf(type)}")`
      : `JSON.stringify(${indented(JSON.stringify(json, null, 2), 2)})`
  const options = [
    ...(method === 'GET' ? [] : [`method: "${method}"`]),
    ...(headers.length === 0 ? [] : [`headers: { ${headers.join(', ')} }`]),
    ...(type === undefined ? [] : [`body: ${body}`]),
  ].map((option) => `  ${option},\n`)
  const list = options.length === 0 ? '' : `, {\n${options.join('')}}`
  return [
    type === undefined || json !== undefined ? '' : 'import { openAsBlob } from "node:fs"\n\n',
    `const response = await fetch(${JSON.stringify(url)}${list})\n`,
    'console.log(response.status, await response.text())',
  ].join('')
}

function python({ method, url, needsToken, type, json }: SampleRequest): string {
  const headers = [
    ...(needsToken ? ['"X-Service-Token": os.environ["TOKEN"]'] : []),
    ...(type === undefined ? [] : [`"Content-Type": ${JSON.stringify(type)}`]),
  ]
  const data =
    json === undefined ? `open("${fileOf(type)}", "rb").read()` : `json.dumps(${indented(literal(json), 4)}).encode()`
  const options = [
    JSON.stringify(url),
    `method="${method}"`,
    ...(headers.length === 0 ? [] : [`headers={${headers.join(', ')}}`]),
    ...(type === undefined ? [] : [`data=${data}`]),
  ].map((option) => `    ${option},\n`)
  const modules = [...(json === undefined ? [] : ['json']), ...(needsToken ? ['os'] : []), 'urllib.request']
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
