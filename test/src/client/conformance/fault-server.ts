import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import { listenOn } from '../../environment/free-port.ts'
import { bulkImport } from '../../stack/client.ts'
import type { Route, Step } from './case.ts'

/** A request of a client. */
interface Seen {
  route: Route | undefined
  key: string | undefined
  body: Buffer
}

interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: Buffer
}

/** A server in front of Sluice that injects the faults of a case. */
export interface FaultServer extends AsyncDisposable {
  url: string
  seen: readonly Seen[]
  /** IDs of all imports that Sluice has answered. */
  imports: ReadonlySet<string>
}

/** Address prefix of uploads and downloads, which storage serves. */
const storagePrefix = '/storage/'

const routes: readonly (readonly [route: Route, request: RegExp])[] = [
  ['upload', new RegExp(`^PUT ${storagePrefix}`)],
  ['storage', new RegExp(`^GET ${storagePrefix}`)],
  ['announce', new RegExp(`^POST ${bulkImport}$`)],
  ['show', new RegExp(`^GET ${bulkImport}/`)],
  ['withdraw', new RegExp(`^DELETE ${bulkImport}/`)],
  ['users', /^POST \/v1\/users$/],
  ['deletions', /^POST \/v3\/user_data_deletions$/],
  ['profile', /^POST \/v2\/user_profiles$/],
  ['exports', /^POST \/v1\/exports$/],
  ['export', /^GET \/v1\/exports\//],
  ['link', /^GET \/export_files\//],
]

/** Starts a server in front of the API at `api` and its storage. */
export async function startFaultServer(
  api: string,
  script: Partial<Record<Route, readonly Step[]>>,
): Promise<FaultServer> {
  const faults = new Faults(api, script)
  const server = createServer((incoming, answer) => {
    const { socket } = incoming // gone when the request has ended
    faults.serve(incoming, answer).catch(() => socket.resetAndDestroy())
  })
  faults.url = `http://127.0.0.1:${await listenOn(server)}`
  return {
    url: faults.url,
    seen: faults.seen,
    imports: faults.imports,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
    },
  }
}

class Faults {
  readonly seen: Seen[] = []
  readonly imports = new Set<string>()
  url = ''
  readonly #api: string
  readonly #script: Partial<Record<Route, readonly Step[]>>
  /** Addresses in storage. The client gets their indexes. */
  readonly #addresses: string[] = []
  readonly #firstAnswers = new Map<Route, Answer>()

  constructor(api: string, script: Partial<Record<Route, readonly Step[]>>) {
    this.#api = api
    this.#script = script
  }

  async serve(incoming: IncomingMessage, answer: ServerResponse): Promise<void> {
    const path = `${incoming.method} ${incoming.url?.split('?')[0]}`
    const route = routes.find(([, pattern]) => pattern.test(path))?.[0]
    const { socket } = incoming
    const seen: Seen = { route, key: incoming.headers['idempotency-key']?.toString(), body: Buffer.alloc(0) }
    const position = this.seen.filter((each) => each.route === route).length
    this.seen.push(seen)
    const step = (route && this.#script[route]?.[position]) ?? 'pass'
    if (step === 'cut') return void socket.resetAndDestroy()
    if (typeof step === 'object' && 'cutAfter' in step) return await cutAfter(incoming, step.cutAfter)
    if (typeof step === 'object' && 'isEarly' in step) {
      const { status, headers, body: text } = this.#instead(step)
      return void answer.writeHead(status, { ...headers, connection: 'close' }).end(text)
    }
    seen.body = await buffer(incoming)
    if (typeof step === 'object' && 'status' in step) return send(answer, this.#instead(step))
    if (typeof step === 'object' && 'delayMs' in step) await delay(step.delayMs)
    if (step === 'cancel') await fetch(this.#targetOf(incoming), { method: 'DELETE', headers: tokenOf(incoming) })
    const repeated = step === 'first answer' && route ? this.#firstAnswers.get(route) : undefined
    const served = repeated ?? this.#rewritten(await forward(this.#targetOf(incoming), incoming, seen.body))
    if (route !== undefined && !this.#firstAnswers.has(route)) this.#firstAnswers.set(route, served)
    if (step === 'lose answer') return void socket.resetAndDestroy()
    if (typeof step === 'object' && 'merge' in step) return send(answer, withMembers(served, step.merge))
    if (typeof step === 'object' && 'cutAnswerAfter' in step) {
      answer.writeHead(served.status, served.headers)
      answer.write(served.body.subarray(0, step.cutAnswerAfter), () => socket.resetAndDestroy())
      return
    }
    send(answer, served)
  }

  #targetOf({ url = '' }: IncomingMessage): string {
    const stored = url.startsWith(storagePrefix) && this.#addresses[Number(url.slice(storagePrefix.length))]
    return stored || `${this.#api}${url}`
  }

  #instead({ status, headers = {}, body = '' }: Extract<Step, { status: number }>): Answer {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    return { status, headers, body: Buffer.from(text) }
  }

  /** Leads uploads, links and redirects of Sluice through this server. */
  #rewritten({ status, headers, body }: Answer): Answer {
    const { location, 'content-type': type = '', 'x-import-id': importId } = headers
    if (typeof importId === 'string') this.imports.add(importId)
    if (location !== undefined) return { status, headers: { ...headers, location: this.#through(location) }, body }
    if (!type.includes('json')) return { status, headers, body }
    const json = JSON.parse(body.toString())
    if (json.direct_upload !== undefined) json.direct_upload.url = this.#through(json.direct_upload.url)
    if (typeof json.file_url === 'string') json.file_url = `${this.url}${new URL(json.file_url).pathname}`
    return { status, headers, body: Buffer.from(JSON.stringify(json)) }
  }

  #through(address: string): string {
    return `${this.url}${storagePrefix}${this.#addresses.push(address) - 1}`
  }
}

const tokenOf = ({ headers }: IncomingMessage) => ({ 'X-Service-Token': String(headers['x-service-token']) })

/** Sends a request with the headers of the client, which may be signed, to an address that it does not know. */
async function forward(target: string, { method, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
  const { host, connection, 'transfer-encoding': _, ...others } = headers
  const length = method === 'GET' ? {} : { 'content-length': body.length }
  const onward = request(target, { method, headers: { ...others, ...length } })
  onward.end(body)
  const [response] = (await once(onward, 'response')) as [IncomingMessage]
  return { status: response.statusCode ?? 500, headers: response.headers, body: await buffer(response) }
}

function send(answer: ServerResponse, { status, headers, body }: Answer): void {
  const { 'transfer-encoding': _, connection, ...others } = headers
  answer.writeHead(status, { ...others, 'content-length': body.length })
  answer.end(body)
}

function withMembers({ status, headers, body }: Answer, members: Record<string, unknown>): Answer {
  return { status, headers, body: Buffer.from(JSON.stringify({ ...JSON.parse(body.toString()), ...members })) }
}

/** Breaks the connection when some bytes of the body have arrived. */
async function cutAfter(incoming: IncomingMessage, bytes: number): Promise<void> {
  let read = 0
  for await (const chunk of incoming) {
    read += chunk.length
    if (read >= bytes) break
  }
  incoming.socket.resetAndDestroy()
}
