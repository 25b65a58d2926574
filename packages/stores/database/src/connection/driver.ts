import {
  AbortedTransactionError,
  type DatabaseConnection,
  type Driver,
  type QueryResult,
  type TransactionSettings,
} from 'kysely'
import type { Client } from './client.ts'
import { runCopyOut } from './copy-out.ts'
import type { Result, Statement } from './exchange.ts'
import type { Pool, PoolClient } from './pool.ts'
import type { Query } from './statements.ts'

/**
 * Errors of connections that broke or could not be opened. pg throws plain errors for these, which look like errors of
 * sockets to other servers. Therefore each error object is remembered here.
 */
const connectionFailures = new WeakSet<object>()

function noteConnectionFailure(error: unknown): void {
  if (typeof error === 'object' && error !== null) connectionFailures.add(error)
}

/** Whether a query failed because its connection to Postgres broke, or because no connection could be opened. */
export function isConnectionFailure(error: unknown): boolean {
  return typeof error === 'object' && error !== null && connectionFailures.has(error)
}

/** Runs Kysely's queries, and those of `statements.ts`, on the connections of a pool. */
export class PoolDriver implements Driver {
  readonly #pool: Pool
  readonly #queryTimeoutMs: number

  /** A connection that leaves a query unanswered for `queryTimeoutMs` is closed, and the query fails. */
  constructor(pool: Pool, queryTimeoutMs: number) {
    this.#pool = pool
    this.#queryTimeoutMs = queryTimeoutMs
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<PooledConnection> {
    try {
      const client = await this.#pool.connect()
      return new PooledConnection(client as PoolClient & Client, this.#queryTimeoutMs) // as `openPool` has made it
    } catch (error) {
      noteConnectionFailure(error)
      throw error
    }
  }

  async releaseConnection(connection: PooledConnection): Promise<void> {
    connection.release()
  }

  async beginTransaction(connection: PooledConnection, settings: TransactionSettings): Promise<void> {
    const isolation = settings.isolationLevel && `isolation level ${settings.isolationLevel}`
    await connection.run(['begin', isolation, settings.accessMode].filter(Boolean).join(' '))
  }

  async commitTransaction(connection: PooledConnection): Promise<void> {
    const { command } = await connection.run('commit')
    if (command === 'ROLLBACK') throw new AbortedTransactionError()
  }

  async rollbackTransaction(connection: PooledConnection): Promise<void> {
    await connection.rollBack()
  }

  async destroy(): Promise<void> {
    await this.#pool.end()
  }
}

/** A connection between its acquisition and its release. */
class PooledConnection implements DatabaseConnection {
  readonly #client: PoolClient & Client
  readonly #queryTimeoutMs: number
  #isBroken = false

  constructor(client: PoolClient & Client, queryTimeoutMs: number) {
    this.#client = client
    this.#queryTimeoutMs = queryTimeoutMs
  }

  async executeQuery<Row>(query: Query): Promise<QueryResult<Row>> {
    if (query.copyOut !== undefined) {
      return { rows: [{ copied: await runCopyOut(this.#client, query.copyOut) } as Row] }
    }
    const { pipeline } = query
    const statements = pipeline?.map(toStatement) ?? [{ ...toStatement(query), returnsRows: true }]
    const { command, rowCount, rows } = await this.#send(statements)
    const writes = ['INSERT', 'UPDATE', 'DELETE', 'MERGE'].includes(command)
    return { rows: rows as Row[], ...(writes && { numAffectedRows: BigInt(rowCount ?? 0) }) }
  }

  // biome-ignore lint/correctness/useYield: nothing streams; large results are copied
  async *streamQuery(): AsyncIterableIterator<never> {
    throw new Error('queries are not streamed')
  }

  async run(text: string): Promise<Result> {
    return await this.#send([{ text, values: [] }])
  }

  async rollBack(): Promise<void> {
    this.#isBroken = true
    await this.run('rollback')
    this.#isBroken = false
  }

  release(): void {
    this.#client.release(this.#isBroken)
  }

  async #send(statements: readonly Statement[]): Promise<Result> {
    // The server may be gone without having closed the connection, and the query would then wait forever.
    const timer = setTimeout(() => void this.#client.end(), this.#queryTimeoutMs)
    try {
      return await this.#client.run(statements)
    } catch (error) {
      if (this.#client.isBroken) noteConnectionFailure(error)
      throw error
    } finally {
      clearTimeout(timer)
    }
  }
}

function toStatement({ sql: text, parameters: values, name, copyMessages }: Query): Statement {
  return { text, values, name, copyMessages }
}
