import pg from 'pg'
import type { Host } from './address.ts'
import type { Hosts } from './hosts.ts'

/** SQLSTATE `read_only_sql_transaction`. */
const readOnly = '25006'

/** How long the server may take to close its side of a connection that has ended, ms. */
export const closeMs = 5_000

type Connected = (error: Error | null, client?: pg.ClientBase) => void

/** What the connections of a pool share. */
interface ClientOptions {
  config: pg.ClientConfig
  hosts: Hosts
  needsWritable: boolean
  /** Called when a connection breaks. */
  onError(error: Error): void
}

/**
 * Returns the class of a pool's connections. Each connection goes to the host that `hosts` chooses. A connection to a
 * server that turns out to be read-only ends: another server is the primary now, or will be soon.
 */
export function clientClass({ config, hosts, needsWritable, onError }: ClientOptions): new () => pg.Client {
  return class extends pg.Client {
    #host: Host | undefined
    /** Whether the server is a standby. Postgres reports it at login, and when a standby becomes a primary. */
    #isStandby = false
    /** A statement was refused because the server is read-only. */
    #isReadOnly = false

    constructor() {
      super(config)
      // An error without a listener would end the process. pg's pool listens only to connections that nobody uses, and
      // BullMQ not to all that it uses. A server may even end a connection in the message that opens it.
      this.on('error', onError)
      this.connection.on('errorMessage', ({ code }: { code?: string }) => {
        if (code !== readOnly) return
        this.#isReadOnly = true
        // The connection ends after the query has received its error, and before the sender can return the connection
        // to the pool.
        if (this.getTransactionStatus() === 'I') queueMicrotask(() => this.#leave())
      })
      this.connection.on('readyForQuery', ({ status }: { status: string }) => {
        // Within a transaction, the connection ends only after the rollback.
        if (this.#isReadOnly && status === 'I') queueMicrotask(() => this.#leave())
      })
      this.connection.on('parameterStatus', ({ parameterName, parameterValue }: ParameterStatus) => {
        if (parameterName === 'in_hot_standby') this.#isStandby = parameterValue === 'on'
      })
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
      this.connection.once('end', () => clearTimeout(timer))
      return callback === undefined ? super.end() : void super.end(callback)
    }

    /** Overrides a method of pg to add `TimeZone`, one of the few startup parameters that PgBouncer accepts. */
    getStartupConf(): Record<string, string> {
      const base: Record<string, string> = Reflect.apply(Reflect.get(pg.Client.prototype, 'getStartupConf'), this, [])
      return { ...base, TimeZone: 'UTC' }
    }

    async #connect(): Promise<pg.Client> {
      const host = await hosts.choose()
      this.#host = host
      Object.assign(this, host)
      try {
        await super.connect()
      } catch (error) {
        hosts.giveUp(host)
        throw error
      }
      if (!needsWritable || !this.#isStandby) return this
      this.#leave()
      throw new Error(`${host.host}:${host.port} is a standby now`)
    }

    #leave(): void {
      if (this.#host !== undefined) hosts.giveUp(this.#host)
      void this.end().catch(() => {})
    }
  }
}

interface ParameterStatus {
  parameterName: string
  parameterValue: string
}
