import type { Readable } from 'node:stream'
import { CompiledQuery } from 'kysely'
import pg from 'pg'
import { to } from 'pg-copy-streams'

/** Text of the queries of {@link copyOut}. The connection runs a `copy` instead of this text. */
const mark = '/* copy out */'

/** The bytes of a `copy`. */
export interface CopiedBytes extends Readable {
  /** The number of rows. It is known only when the transaction has ended. */
  readonly rowCount: number
}

/**
 * Builds a query that runs a `copy … to stdout` and passes its bytes to `consume`. The query ends when `consume` ends.
 * It returns no rows. Its time is not limited: the caller aborts the query by rejecting in `consume`. The connection is
 * then closed, because Postgres would still send the rest of the rows.
 */
export function copyOut(statement: string, consume: (bytes: CopiedBytes) => Promise<void>): CompiledQuery {
  return CompiledQuery.raw(mark, [new CopyOut(statement, consume)])
}

class CopyOut {
  readonly statement: string
  readonly consume: (bytes: CopiedBytes) => Promise<void>

  constructor(statement: string, consume: (bytes: CopiedBytes) => Promise<void>) {
    this.statement = statement
    this.consume = consume
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

async function run(client: pg.Client, submit: (query: unknown) => unknown, { statement, consume }: CopyOut) {
  const stream = to(statement)
  // If the connection breaks when `consume` no longer listens, the error of the stream must not end this process.
  stream.on('error', () => {})
  submit(stream)
  try {
    await consume(stream)
  } catch (error) {
    client.connection.stream.destroy()
    throw error
  }
  return { command: 'SELECT', rowCount: 0, rows: [] }
}
