import type { Readable } from 'node:stream'
import pg from 'pg'
import { to } from 'pg-copy-streams'

/** A `copy … to stdout`, the consumer of its bytes, and what ends it early. */
export interface CopyOut {
  statement: string
  consume(bytes: Readable): Promise<void>
  signal: AbortSignal
}

/** Returns a text as a literal of SQL, because `copy` accepts no parameters. */
export function escapeLiteral(text: string): string {
  return pg.escapeLiteral(text)
}

/** Runs a copy as `copyOut` describes. Returns the number of rows. Throws the reason of the signal once it aborts. */
export async function runCopyOut(client: pg.Client, { statement, consume, signal }: CopyOut): Promise<number> {
  // One message: Postgres commits once it has sent the last row, however late that row is read.
  const stream = to(`${statement}; commit`)
  const ended = Promise.withResolvers<void>()
  stream.on('error', ended.reject)
  // The error of `consume` says more, and comes first.
  ended.promise.catch(() => {})
  const close = () => void client.connection.stream.destroy()
  signal.addEventListener('abort', close)
  try {
    signal.throwIfAborted()
    client.query(stream)
    // Postgres is ready for another query.
    client.once('drain', ended.resolve)
    await consume(stream)
    await ended.promise
  } catch (error) {
    close()
    signal.throwIfAborted()
    throw error
  } finally {
    signal.removeEventListener('abort', close)
    client.off('drain', ended.resolve)
  }
  return stream.rowCount
}
