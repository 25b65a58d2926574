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
  /** Statements that Postgres was asked to parse and has not answered yet, in the order of its answers. */
  readonly #toParse: Statement[] = []
  #stopRecording: () => void = () => {}
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
    this.#recordParsed(connection)
    connection.stream.cork()
    try {
      for (const statement of this.#statements) {
        const { name, text, values, copy } = statement
        if (!this.#isKnown(connection, name)) {
          this.#toParse.push(statement)
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

  /** Whether Postgres has the statement, or will have it before it is bound here. */
  #isKnown(connection: Sending, name: string): boolean {
    if (name === '') return false
    return connection.parsedStatements[name] !== undefined || this.#toParse.some((statement) => statement.name === name)
  }

  /**
   * Records each statement as soon as Postgres has it: a prepared statement outlives the failure of a later one, and its
   * transaction. An ordinary query would prepare an unrecorded one again under the same name, which Postgres refuses.
   */
  #recordParsed(connection: Sending): void {
    const onParsed = (): void => {
      const { name = '', text = '' } = this.#toParse.shift() ?? {}
      if (name !== '') connection.parsedStatements[name] = text
    }
    connection.on('parseComplete', onParsed)
    this.#stopRecording = () => connection.off('parseComplete', onParsed)
  }

  handleError(error: Error): void {
    this.#failed = true
    // After an error, Postgres parses nothing more of this pipeline.
    this.#stopRecording()
    this.#answer.reject(error)
  }

  handleReadyForQuery(): void {
    if (this.#failed) return
    this.#stopRecording()
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
  sync(): void
  on(event: 'parseComplete', listener: () => void): void
  off(event: 'parseComplete', listener: () => void): void
}

function toParameter(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value) || typeof value === 'string') return value
  if (typeof value === 'number' || typeof value === 'boolean') return String(value)
  throw new TypeError(`a pipeline takes no parameter such as ${typeof value}`)
}
