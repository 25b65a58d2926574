import pg from 'pg'
import type { Sending } from './send-statement.ts'

/** The methods of pg's query that this file replaces. The published types of pg lack them. */
interface Internals {
  prepare(connection: Sending): void
  handleDataRow(message: unknown): void
  handleCommandComplete(message: unknown, connection: unknown): void
  callback: ((error: unknown, result: unknown) => void) | undefined
}

/**
 * Builds a query that is preceded by one statement, and passes the query to `send`. `sendBefore` sends the preceding
 * statement. Statement and query travel in one message and run in one transaction. The answer is that of the query.
 *
 * Accepts the arguments of pg's `query`. Returns what `query` returns: a promise if the arguments have no callback.
 */
export function precede(
  sent: unknown[],
  sendBefore: (connection: Sending) => void,
  send: (query: pg.Query) => void,
): unknown {
  const query: pg.Query & Internals = Reflect.construct(pg.Query, sent)
  const { prepare, handleDataRow, handleCommandComplete } = query
  let precedingAnswered = false
  Object.assign(query, {
    // Only the extended protocol sends several statements that have parameters.
    queryMode: 'extended',
    prepare(connection: Sending) {
      sendBefore(connection)
      Reflect.apply(prepare, query, [connection])
    },
    handleDataRow(message: unknown) {
      if (precedingAnswered) Reflect.apply(handleDataRow, query, [message])
    },
    handleCommandComplete(message: unknown, connection: unknown) {
      if (precedingAnswered) Reflect.apply(handleCommandComplete, query, [message, connection])
      precedingAnswered = true
    },
  })
  if (query.callback !== undefined) {
    send(query)
    return undefined
  }
  return new Promise((resolve, reject) => {
    query.callback = (error, result) => (error ? reject(error) : resolve(result))
    send(query)
  })
}
