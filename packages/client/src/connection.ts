import { type ApiError, apiError, NetworkError, UnexpectedAnswerError } from './errors.ts'
import { refuseUnknown } from './option-names.ts'
import { Retries } from './retries.ts'

/** Time limit of one try of a request, ms. */
const tryTimeoutMs = 60_000

export interface ConnectionOptions {
  /** Address of the API, such as `https://api.example.com`. */
  api: string
  /** API token of the app. */
  token: string
  /**
   * How long a request is repeated after temporary failures such as 429, 503 and a lost connection, ms. Default: 30 s.
   */
  patienceMs?: number | undefined
  /**
   * How long an outage may last during an upload, or while waiting for the end of an import or export, ms. Default: 3
   * minutes.
   */
  outagePatienceMs?: number | undefined
  /** The `fetch` to use. Default: the global function. */
  fetch?: typeof fetch | undefined
}

export interface ApiCall {
  method?: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Path and query. */
  path: string
  /** Sent as JSON. */
  body?: unknown
  idempotencyKey?: string | undefined
  signal?: AbortSignal | undefined
}

export interface ApiAnswer<Body> {
  body: Body
  headers: Headers
}

/** Sends requests to the API, and repeats them after failures that may be temporary. */
export class Connection {
  readonly fetch: typeof fetch
  readonly outagePatienceMs: number
  readonly #api: string
  readonly #token: string
  readonly #patienceMs: number

  constructor(options: ConnectionOptions) {
    refuseUnknown(options, { api: true, token: true, patienceMs: true, outagePatienceMs: true, fetch: true })
    const { api, token, patienceMs = 30_000, outagePatienceMs = 180_000, fetch = globalThis.fetch } = options
    if (!api) throw new TypeError('api is missing: it is the address of the API, such as https://api.example.com')
    if (!token) throw new TypeError('token is missing: it is the API token of the app')
    this.#api = api.replace(/\/+$/, '')
    this.#token = token
    this.#patienceMs = patienceMs
    this.outagePatienceMs = outagePatienceMs
    this.fetch = (input, init) => fetch(input, init) // browsers refuse a call of `fetch` as a method of this object
  }

  /**
   * Sends a request. Repeats it with backoff after 429, 5xx and lost connections, and waits as long as `Retry-After`
   * says.
   *
   * Returns the answer with its parsed JSON, undefined if it has no body. Throws {@link ApiError},
   * {@link NetworkError} or {@link UnexpectedAnswerError}.
   */
  async send<Body>(call: ApiCall, patienceMs = this.#patienceMs): Promise<ApiAnswer<Body>> {
    const retries = new Retries(patienceMs, call.signal)
    for (;;) {
      const started = performance.now()
      try {
        return await this.#try<Body>(call)
      } catch (error) {
        await retries.pause(error, performance.now() - started)
      }
    }
  }

  /**
   * Opens a link of the API to a file. Repeats the request after failures like {@link send}. Returns the bytes of the
   * file from the position `from` on.
   */
  async download(url: string, from: number, signal?: AbortSignal | undefined): Promise<ReadableStream<Uint8Array>> {
    const retries = new Retries(this.outagePatienceMs, signal)
    for (;;) {
      const started = performance.now()
      // The limit is for the answer's head only: a large file takes longer.
      const head = new AbortController()
      const timer = setTimeout(() => head.abort(new Error('no answer')), tryTimeoutMs)
      try {
        const init: RequestInit = {
          signal: signal === undefined ? head.signal : AbortSignal.any([signal, head.signal]),
          ...(from > 0 && { headers: { Range: `bytes=${from}-` } }),
        }
        const response = await this.#fetch(url, init, signal)
        if (!response.ok) throw await errorOf(response)
        const body = response.body ?? new Blob([]).stream()
        return response.status === 206 || from === 0 ? body : body.pipeThrough(skipping(from))
      } catch (error) {
        await retries.pause(error, performance.now() - started)
      } finally {
        clearTimeout(timer)
      }
    }
  }

  async #try<Body>({ method = 'GET', path, body, idempotencyKey, signal }: ApiCall): Promise<ApiAnswer<Body>> {
    const timeout = AbortSignal.timeout(tryTimeoutMs)
    const init: RequestInit = {
      method,
      headers: {
        'X-Service-Token': this.#token,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...(idempotencyKey !== undefined && { 'Idempotency-Key': idempotencyKey }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      // `fetch` would send the token on to any address.
      redirect: 'manual',
      signal: signal === undefined ? timeout : AbortSignal.any([signal, timeout]),
    }
    const response = await this.#fetch(`${this.#api}${path}`, init, signal)
    if (response.type === 'opaqueredirect' || (response.status >= 300 && response.status < 400)) {
      const target = response.headers.get('location') ?? 'another address'
      throw new UnexpectedAnswerError(`${this.#api} redirects to ${target}: use the address of the API itself`)
    }
    if (!response.ok) {
      const error = await errorOf(response)
      // The API says what it does not find.
      if (error.messages.length > 0 || ![404, 405].includes(error.status)) throw error
      throw new UnexpectedAnswerError(`${this.#api} is not an API of Sluice: it answered ${error.status}`)
    }
    // A body that breaks off is a lost answer, while a body in another form is not from the API.
    const text = await response.text().catch((error: unknown) => {
      signal?.throwIfAborted()
      throw new NetworkError(`the answer broke off: ${causeOf(error)}`)
    })
    return { body: text === '' ? (undefined as Body) : parse<Body>(text, this.#api), headers: response.headers }
  }

  async #fetch(url: string, init: RequestInit, signal: AbortSignal | undefined): Promise<Response> {
    try {
      return await this.fetch(url, init)
    } catch (error) {
      signal?.throwIfAborted()
      throw new NetworkError(`${new URL(url, this.#api).origin} cannot be reached: ${causeOf(error)}`)
    }
  }
}

/** Returns a stream that leaves out the first bytes. */
function skipping(bytes: number): TransformStream<Uint8Array, Uint8Array> {
  let left = bytes
  return new TransformStream({
    transform(chunk, controller) {
      if (chunk.length > left) controller.enqueue(chunk.subarray(left))
      left = Math.max(0, left - chunk.length)
    },
  })
}

/** Returns why `fetch` failed. Node hides the reason in the cause. */
export function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  const { cause } = error
  if (cause instanceof AggregateError) return cause.errors.map((each: Error) => each.message).join(', ')
  return cause instanceof Error ? cause.message : error.message
}

/** Returns how long the service asks to wait, ms; undefined if it does not say. */
export function retryAfterOf({ headers }: Response): number | undefined {
  const text = headers.get('retry-after')
  if (text === null) return undefined
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now()
  return Number.isNaN(ms) ? undefined : Math.max(0, ms)
}

async function errorOf(response: Response): Promise<ApiError> {
  const body = (await response.json().catch(() => undefined)) as
    | { error?: { code?: number; messages?: string[] } }
    | undefined
  return apiError({
    status: response.status,
    code: body?.error?.code,
    messages: body?.error?.messages ?? [],
    retryAfterMs: retryAfterOf(response),
    requestId: response.headers.get('x-request-id') ?? undefined,
  })
}

function parse<Body>(text: string, api: string): Body {
  try {
    return JSON.parse(text) as Body
  } catch {
    throw new UnexpectedAnswerError(`${api} is not an API of Sluice: its answer is not JSON`)
  }
}
