import type { Writable } from 'node:stream'
import { CompiledQuery } from 'kysely'
import type pg from 'pg'
import { CopyMessages } from './copy.ts'
import { preparedName } from './prepared.ts'

/** Stands for a pipeline where a statement has its text. */
const mark = '/* pipeline */'

/**
 * Statements as one query, which sends them in one go and waits for all of them: one after the other would wait for this process
 * between two, and their locks with them. Where one fails, those behind it are not done, and its error is the query's. Gives none
 * of their rows. Throws where a parameter can't be sent.
 */
export function pipelineOf(statements: readonly CompiledQuery[]): CompiledQuery {
  return CompiledQuery.raw(mark, [new Pipeline(statements)])
}

/** Has a connection take pipelines. */
export function sendPipelines(client: pg.ClientBase): void {
  const query = client.query
  Object.assign(client, {
    query(text: unknown, values: unknown, ...rest: unknown[]): unknown {
      const [pipeline] = text === mark && Array.isArray(values) ? values : []
      if (!(pipeline instanceof Pipeline)) return Reflect.apply(query, client, [text, values, ...rest])
      Reflect.apply(query, client, [pipeline])
      return pipeline.answered
    },
  })
}

/** A statement as it is sent: `copy` is what follows it where it takes rows. */
interface Statement {
  name: string
  text: string
  values: (string | Buffer | null)[]
  copy?: CopyMessages
}

/** What pg asks of a query that is not its own: it sends its messages, and hears of the answers. */
class Pipeline {
  readonly answered: Promise<{ command: 'SELECT'; rowCount: number; rows: [] }>
  readonly #statements: readonly Statement[]
  readonly #answer = Promise.withResolvers<{ command: 'SELECT'; rowCount: number; rows: [] }>()
  #failed = false

  constructor(statements: readonly CompiledQuery[]) {
    this.#statements = statements.map(({ sql: text, parameters }) => {
      const [copy] = parameters
      if (copy instanceof CopyMessages) return { name: '', text, values: [], copy }
      return { name: preparedName(text) ?? '', text, values: parameters.map(toParameter) }
    })
    this.answered = this.#answer.promise
  }

  /** One Sync ends them all: Postgres passes over what stands between an error and it. */
  submit(connection: Sending): void {
    connection.stream.cork()
    try {
      for (const { name, text, values, copy } of this.#statements) {
        if (name === '' || connection.parsedStatements[name] === undefined) {
          // It may be there all the same, from a pipeline that failed.
          if (name !== '') connection.close({ type: 'S', name })
          connection.parse({ name, text, types: [] })
        }
        connection.bind({ statement: name, values })
        connection.execute({ portal: '', rows: 0 })
        // Postgres passes over these as well where there was an error before.
        for (const part of copy?.parts ?? []) connection.stream.write(part)
      }
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  handleError(error: Error): void {
    this.#failed = true
    this.#answer.reject(error)
  }

  handleReadyForQuery(connection: Sending): void {
    if (this.#failed) return
    for (const { name, text } of this.#statements) if (name !== '') connection.parsedStatements[name] = text
    this.#answer.resolve({ command: 'SELECT', rowCount: 0, rows: [] })
  }

  /** Postgres asks for rows that are on their way already. */
  handleCopyInResponse(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
}

/** A connection as pg hands it over: its own types leave some of that out. */
interface Sending {
  stream: Pick<Writable, 'cork' | 'uncork' | 'write'>
  parsedStatements: Record<string, string>
  parse(statement: { name: string; text: string; types: [] }): void
  bind(config: { statement: string; values: (string | Buffer | null)[] }): void
  execute(config: { portal: ''; rows: 0 }): void
  close(statement: { type: 'S'; name: string }): void
  sync(): void
}

function toParameter(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value) || typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new TypeError(`a pipeline takes no parameter such as ${typeof value}`)
}
