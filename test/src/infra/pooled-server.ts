import { createHash } from 'node:crypto'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import { cutText, type Message, MessageReader, messageBytes } from './postgres-messages.ts'

/** An answer that Postgres has yet to send: to a Parse, to a Close, or to all messages up to a Sync. */
interface Due {
  of: 'parse' | 'close' | 'sync'
  name: string
  /** Whether the client expects the answer. The pooler's own messages have answers that the client must not see. */
  isForClient: boolean
}

/** Settings that PgBouncer copies from a client's connection to the borrowed connection to Postgres. */
const trackedSettings = ['application_name', 'client_encoding', 'DateStyle', 'TimeZone']

/** A connection to Postgres that clients of the pooler borrow in turn. It keeps their prepared statements apart. */
export class PooledServer {
  /** Receives what Postgres answers to the client that has borrowed the connection. */
  onMessage: (message: Message) => void = () => {}
  readonly #stream: Duplex
  readonly #prepared = new Set<string>()
  #due: Due[] = []

  private constructor(stream: Duplex) {
    this.#stream = stream
    const reader = new MessageReader()
    stream.on('data', (chunk: Buffer) => {
      for (const message of reader.read(chunk)) if (this.#isForClient(message)) this.onMessage(message)
    })
  }

  /** Opens a connection. The library pg logs in, and the pooler then uses pg's socket. */
  static async open(databaseUrl: string): Promise<PooledServer> {
    const client = new pg.Client({ connectionString: databaseUrl })
    client.on('error', () => {}) // the pooler ends its connections without a farewell
    await client.connect()
    const { stream } = client.connection
    stream.removeAllListeners('data')
    return new PooledServer(stream)
  }

  /** Whether the server has answered everything. */
  get isQuiet(): boolean {
    return this.#due.length === 0
  }

  /** Sends a client's message. `statements` are the client's prepared statements by name. */
  send({ type, body }: Message, statements: Map<string, Buffer>): void {
    if (type === 'P') this.#parse(body, statements)
    else if (type === 'B') this.#bind(body, statements)
    else if (type === 'Q' || type === 'S') this.#sendDue(messageBytes(type, body), 'sync', '', true)
    else if (type === 'C') this.#close(body, statements)
    else this.#stream.write(messageBytes(type, body))
  }

  end(): void {
    this.#stream.destroy()
  }

  /** Returns what clients left in the session. */
  async leftovers(): Promise<string[]> {
    const tracked = trackedSettings.map((name) => `'${name}'`).join(', ')
    return await this.#column(`
      select 'setting ' || name from pg_settings where source = 'session' and name not in (${tracked})
      union all select 'lock ' || objid from pg_locks where pid = pg_backend_pid() and locktype = 'advisory'
      union all select 'temporary table ' || relname from pg_class where relnamespace = pg_my_temp_schema()
    `)
  }

  #parse(body: Buffer, statements: Map<string, Buffer>): void {
    const [name, statement] = cutText(body)
    if (name === '') {
      this.#sendDue(messageBytes('P', body), 'parse', '', true)
      return
    }
    statements.set(name, statement)
    const own = ownName(statement)
    // Another client has prepared this statement. Preparing it again makes this client's answer arrive in order.
    if (this.#knows(own)) this.#sendDue(messageBytes('C', `S${own}\0`), 'close', own, false)
    this.#sendDue(messageBytes('P', `${own}\0`, statement), 'parse', own, true)
  }

  #bind(body: Buffer, statements: Map<string, Buffer>): void {
    const [portal, rest] = cutText(body)
    const [name, parameters] = cutText(rest)
    if (name === '') {
      this.#stream.write(messageBytes('B', body))
      return
    }
    const statement = statements.get(name)
    if (statement === undefined) throw new Error(`the client never prepared ${name}`)
    const own = ownName(statement)
    if (!this.#knows(own)) this.#sendDue(messageBytes('P', `${own}\0`, statement), 'parse', own, false)
    this.#stream.write(messageBytes('B', `${portal}\0${own}\0`, parameters))
  }

  /** Forgets a client's statement. The server closes an unknown one, so that the answer arrives in order. */
  #close(body: Buffer, statements: Map<string, Buffer>): void {
    statements.delete(cutText(body.subarray(1))[0])
    this.#sendDue(messageBytes('C', 'Snone\0'), 'close', 'none', true)
  }

  #knows(name: string): boolean {
    const last = this.#due.findLast((due) => due.name === name)
    return last === undefined ? this.#prepared.has(name) : last.of === 'parse'
  }

  #sendDue(bytes: Buffer, of: Due['of'], name: string, isForClient: boolean): void {
    this.#due.push({ of, name, isForClient })
    this.#stream.write(bytes)
  }

  /** Records an answer. Returns whether it is for the client. */
  #isForClient({ type }: Message): boolean {
    // After an error, Postgres skips everything up to the Sync.
    if (type === 'E') this.#due = this.#due.slice(this.#due.findIndex(({ of }) => of === 'sync'))
    if (!['1', '3', 'Z'].includes(type)) return true
    const due = this.#due.shift()
    if (due?.of === 'parse' && due.name !== '') this.#prepared.add(due.name)
    if (due?.of === 'close') this.#prepared.delete(due.name)
    return due?.isForClient ?? true
  }

  async #column(query: string): Promise<string[]> {
    const values: string[] = []
    const { promise, resolve } = Promise.withResolvers<void>()
    this.onMessage = ({ type, body }) => {
      if (type === 'D') values.push(body.toString('utf8', 6))
      if (type === 'Z') resolve()
    }
    this.send({ type: 'Q', body: Buffer.from(`${query}\0`) }, new Map())
    await promise
    return values
  }
}

/**
 * Returns the name that the pooler gives a prepared statement on every connection, a hash of its text and parameter
 * types.
 */
function ownName(statement: Buffer): string {
  return `pooler_${createHash('sha256').update(statement).digest('hex').slice(0, 32)}`
}
