import pg from 'pg'
import type { Host } from './address.ts'
import { Exchange, type PreparedNames, type Result, type Statement } from './exchange.ts'
import type { Hosts } from './hosts.ts'

/** SQLSTATE `read_only_sql_transaction` (second-day.md §7, Postgres). */
const readOnly = '25006'

/** How long the server may take to close its side of a connection that has ended, ms. */
export const closeMs = 5_000

/**
 * Statements that read or write rows. Others, such as `create database`, must not follow a statement in the same
 * message.
 */
const handlesRows = /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)*(?:select|insert|update|delete|merge|with)\b/is

const opensTransaction = /^\s*(?:begin|start transaction)\b/i

type Connected = (error: Error | null, client?: pg.ClientBase) => void

/** What the connections of a pool share. */
export interface ClientOptions {
  config: pg.ClientConfig
  hosts: Hosts
  needsWritable: boolean
  /**
   * Settings of Postgres by name, such as `lock_timeout`. They apply to each transaction and each statement of a
   * connection, but never to its session: behind a pooler, other clients use the session too.
   */
  settings: Readonly<Record<string, string>>
  /** Called when a connection breaks. */
  onError(error: Error): void
}

/**
 * A connection to Postgres, to the host that `hosts` chooses. A connection to a server that turns out to be read-only
 * ends: another server is the primary now, or will be soon.
 */
export class Client extends pg.Client {
  readonly #options: ClientOptions
  readonly #prepared: PreparedNames = new Map()
  readonly #settings: Statement | undefined
  #host: Host | undefined
  /** A statement was refused because the server is read-only. */
  #isReadOnly = false
  #hasFailed = false

  constructor(options: ClientOptions) {
    super(options.config)
    this.#options = options
    this.#settings = settingsStatement(options.settings)
    // An error without a listener would end the process. pg's pool listens only to connections that nobody uses, and
    // BullMQ not to all that it uses. A server may even end a connection in the message that opens it.
    this.on('error', (error) => {
      this.#hasFailed = true
      options.onError(error)
    })
  }

  /** The connection has ended, or pg sends nothing more on it: Postgres has announced that it ends the connection. */
  get isBroken(): boolean {
    return this.#hasFailed || this.connection.stream.destroyed
  }

  /**
   * Sends statements at once, with one Sync, and returns the answer to the last one. If one fails, Postgres skips the
   * following ones. Rejects with the error of Postgres, with a `TypeError` if a value cannot be sent, and with another
   * error if the connection breaks.
   *
   * In the same message, the settings follow each `begin` and precede each single statement that reads or writes rows.
   * They cost no round trip. After the transaction or the statement, Postgres restores the session's own values.
   */
  async run(statements: readonly Statement[]): Promise<Result> {
    try {
      return await new Promise<Result>((resolve, reject) => {
        const exchange = new Exchange(this, this.#prepared, this.#withSettings(statements))
        exchange.text = statements.map(({ text }) => text).join(';')
        exchange.callback = (error, result) => (result === undefined ? reject(error) : resolve(result))
        super.query(exchange)
      })
    } catch (error) {
      if (!(error instanceof Error)) throw error
      // The stack of an error of pg leads to the socket. This stack leads to the caller.
      Error.captureStackTrace(error)
      this.#isReadOnly ||= error instanceof pg.DatabaseError && error.code === readOnly
      throw error
    } finally {
      // The connection ends before its user can return it to the pool, but after the rollback of a transaction.
      if (this.#isReadOnly && this.getTransactionStatus() === 'I') this.#leave()
    }
  }

  /** Overrides a method of pg, so that every statement is sent by `run`. Accepts what pg accepts. */
  override query<Answer>(...sent: unknown[]): Answer
  override query(...sent: unknown[]): unknown {
    const [query, values, callback] = sent
    const statement = toStatement(query, values)
    if (statement === undefined) return Reflect.apply(super.query, this, sent)
    const answer = this.run([{ ...statement, returnsRows: true }])
    if (typeof callback !== 'function') return answer
    answer.then(
      (result) => callback(undefined, result),
      (error: unknown) => callback(error),
    )
    return undefined
  }

  override connect(): Promise<pg.Client>
  override connect(callback: Connected): void
  override connect(callback?: Connected): Promise<pg.Client> | undefined {
    const connected = this.#connect()
    if (callback === undefined) return connected
    connected.then(
      () => callback(null, this),
      (error: Error) => callback(error),
    )
    return undefined
  }

  /** Overrides a method of pg, which leaves the socket open as long as the server leaves it open. */
  override end(): Promise<void>
  override end(callback: (error: Error) => void): void
  override end(callback?: (error: Error) => void): Promise<void> | undefined {
    const timer = setTimeout(() => this.connection.stream.destroy(), closeMs).unref()
    this.once('end', () => clearTimeout(timer))
    return callback === undefined ? super.end() : void super.end(callback)
  }

  /**
   * Overrides a method of pg to add `TimeZone`, one of the few startup parameters that PgBouncer accepts
   * (second-day.md §7, Poolers).
   */
  getStartupConf(): Record<string, string> {
    const base: Record<string, string> = Reflect.apply(Reflect.get(pg.Client.prototype, 'getStartupConf'), this, [])
    return { ...base, TimeZone: 'UTC' }
  }

  async #connect(): Promise<pg.Client> {
    const { hosts, needsWritable } = this.#options
    const host = await hosts.choose()
    this.#host = host
    this.host = host.host
    this.port = host.port
    try {
      await super.connect()
      if (!needsWritable) return this
      const { rows } = await this.run([{ text: 'select pg_is_in_recovery()', values: [], returnsRows: true }])
      if (rows[0]?.pg_is_in_recovery === false) return this
      throw new Error(`${host.host}:${host.port} is a standby now`)
    } catch (error) {
      this.#leave()
      throw error
    }
  }

  #withSettings(statements: readonly Statement[]): readonly Statement[] {
    const [first, ...others] = statements
    if (first === undefined || this.#settings === undefined || this.getTransactionStatus() !== 'I') return statements
    if (opensTransaction.test(first.text)) return [first, this.#settings, ...others]
    return handlesRows.test(first.text) ? [this.#settings, ...statements] : statements
  }

  #leave(): void {
    if (this.#host !== undefined) this.#options.hosts.giveUp(this.#host)
    void this.end().catch(() => {})
  }
}

function settingsStatement(settings: ClientOptions['settings']): Statement | undefined {
  const calls = Object.entries(settings).map(
    ([setting, value]) => `set_config(${pg.escapeLiteral(setting)}, ${pg.escapeLiteral(value)}, true)`,
  )
  if (calls.length === 0) return undefined
  return { name: 'sluice_settings', text: `select ${calls.join(', ')}`, values: [] }
}

/** Returns a query in any of the forms that pg accepts; undefined for an object that sends itself. */
function toStatement(query: unknown, values: unknown): Statement | undefined {
  if (typeof query === 'string') return { text: query, values: Array.isArray(values) ? values : [] }
  if (typeof query !== 'object' || query === null || 'submit' in query || !('text' in query)) return undefined
  const { name, text, values: own } = query as pg.QueryConfig
  return { name, text, values: own ?? [] }
}
