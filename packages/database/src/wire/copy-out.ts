import type { Readable } from 'node:stream'
import { CompiledQuery } from 'kysely'
import pg from 'pg'
import { to } from 'pg-copy-streams'

/** Text of the queries of {@link copyOut}. The connection runs a `copy` instead of this text. */
const mark = '/* copy out */'

/** A `copy`, the consumer of its bytes, and what ends it early. */
interface CopyOutOptions {
  statement: string
  consume(bytes: Readable): Promise<void>
  signal: AbortSignal
}

/**
 * Builds a query that runs a `copy … to stdout`, commits the transaction, and passes the bytes to `consume`. It returns
 * one row with the number of rows that were copied. The query ends when `consume` and the transaction have ended.
 *
 * Only the signal limits its time. If the signal aborts, or `consume` rejects, the connection is closed, because
 * Postgres would still send the rest of the rows.
 */
export function copyOut(options: CopyOutOptions): CompiledQuery<{ copied: number }> {
  return CompiledQuery.raw(mark, [new CopyOut(options)]) as CompiledQuery<{ copied: number }>
}

class CopyOut {
  readonly options: CopyOutOptions

  constructor(options: CopyOutOptions) {
    this.options = options
  }
}

/** Makes a connection accept the queries of {@link copyOut}. */
export function sendCopiesOut(client: pg.ClientBase): void {
  if (!(client instanceof pg.Client)) return
  const query = client.query
  Object.assign(client, {
    query(text: unknown, values: unknown, ...rest: unknown[]): unknown {
      const [copy] = text === mark && Array.isArray(values) ? values : []
      if (!(copy instanceof CopyOut)) return Reflect.apply(query, client, [text, values, ...rest])
      return run(client, (submittable) => Reflect.apply(query, client, [submittable]), copy)
    },
  })
}

async function run(client: pg.Client, submit: (query: unknown) => unknown, copy: CopyOut) {
  const { statement, consume, signal } = copy.options
  // One message: Postgres commits once it has sent the last row, however late that row is read.
  const stream = to(`${statement}; commit`)
  const ended = Promise.withResolvers<void>()
  Object.assign(stream, { handleReadyForQuery: ended.resolve })
  stream.on('error', ended.reject)
  // The error of `consume` says more, and comes first.
  ended.promise.catch(() => {})
  const close = () => void client.connection.stream.destroy()
  signal.addEventListener('abort', close)
  try {
    signal.throwIfAborted()
    submit(stream)
    await consume(stream)
    await ended.promise
  } catch (error) {
    close()
    throw error
  } finally {
    signal.removeEventListener('abort', close)
  }
  return { command: 'SELECT', rowCount: 1, rows: [{ copied: stream.rowCount }] }
}
