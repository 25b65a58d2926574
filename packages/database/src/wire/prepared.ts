import { createHash } from 'node:crypto'
import type { PoolClient } from 'pg'

/**
 * Statements that begin with this comment are prepared once per connection: Postgres plans them once instead of each
 * time. Only for statements that run many times a second, and go by an index whatever their parameters.
 */
const mark = '/* prepared */'

/** Names by text: a name must always stand for the same statement. */
const names = new Map<string, string>()

/** Has a connection prepare the statements that are marked. */
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

/** The name by which a statement is prepared; undefined where it is not marked. */
export function preparedName(text: string): string | undefined {
  if (!text.trimStart().startsWith(mark)) return undefined
  const name = names.get(text) ?? createHash('sha256').update(text).digest('hex').slice(0, 32)
  names.set(text, name)
  return name
}
