import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'

/**
 * Marks a statement that is prepared once per connection, so that Postgres does not plan it each time. Use it only for
 * statements that run many times a second and use an index whatever their parameters.
 */
const mark = '/* prepared */'

/** Names of the prepared statements, by their SQL text. A name must always stand for the same statement. */
const names = new Map<string, string>()

/** Makes a connection prepare the statements that begin with the mark. */
export function prepareMarked(client: PoolClient): void {
  const query = client.query
  Object.assign(client, {
    query(text: unknown, values: unknown, ...rest: unknown[]): unknown {
      const name = typeof text === 'string' ? preparedName(text) : undefined
      return Reflect.apply(
        query,
        client,
        name === undefined ? [text, values, ...rest] : [{ name, text, values }, ...rest],
      )
    },
  })
}

/** Returns the name under which a statement is prepared; undefined if the statement is not marked. */
export function preparedName(text: string): string | undefined {
  if (!text.trimStart().startsWith(mark)) return undefined
  const name = names.get(text) ?? createHash('sha256').update(text).digest('hex').slice(0, 32)
  names.set(text, name)
  return name
}
