import pg from 'pg'
import type { Host } from './address.ts'
import type { Hosts } from './hosts.ts'

/** SQLSTATE `read_only_sql_transaction`. */
const readOnly = '25006'

type Connected = (error: Error | null, client?: pg.ClientBase) => void

/**
 * Returns the class of a pool's connections. Each connection goes to the host that `hosts` chooses. A connection to a
 * server that turns out to be read-only ends: another server is the primary now, or will be soon.
 */
export function clientClass(config: pg.ClientConfig, hosts: Hosts, needsWritable: boolean): new () => pg.Client {
  return class extends pg.Client {
    #host: Host | undefined

    constructor() {
      super(config)
      this.connection.on('errorMessage', ({ code }: { code?: string }) => {
        // The query receives its error first.
        if (code === readOnly) setImmediate(() => this.#leave())
      })
      if (needsWritable) this.connection.on('parameterStatus', (status: ParameterStatus) => this.#watchStandby(status))
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

    /** Replaces a method of pg. Besides user, database and name, a pooler accepts only such parameters. */
    getStartupConf(): Record<string, string> {
      const base: Record<string, string> = Reflect.apply(Reflect.get(pg.Client.prototype, 'getStartupConf'), this, [])
      return { ...base, TimeZone: 'UTC' }
    }

    async #connect(): Promise<pg.Client> {
      const host = await hosts.choose()
      this.#host = host
      Object.assign(this, host)
      try {
        return await super.connect()
      } catch (error) {
        hosts.giveUp(host)
        throw error
      }
    }

    /** Postgres reports at login, and whenever it changes, whether the server is a standby. */
    #watchStandby({ parameterName, parameterValue }: ParameterStatus): void {
      if (parameterName === 'in_hot_standby' && parameterValue === 'on') this.#leave()
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
