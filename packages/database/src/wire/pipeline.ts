import type { Writable } from 'node:stream'
import { sendTransactionSettings } from '@sluice/postgres'
import { CompiledQuery } from 'kysely'
import type pg from 'pg'
import { CopyMessages } from './copy.ts'
import { preparedName } from './prepared.ts'

/** Text of the queries of {@link pipelineOf}. The connection sends the joined statements instead of this text. */
const mark = '/* pipeline */'

/**
 * Joins statements into one query, which sends all of them at once and waits for all answers. Sent one by one, each
 * statement would wait for this process while the transaction holds its locks.
 *
 * If a statement fails, Postgres skips the following ones, and the query rejects with its error. The query returns no
 * rows. Throws a `TypeError` if a parameter cannot be sent.
 */
export function pipelineOf(statements: readonly CompiledQuery[]): CompiledQuery {
  return CompiledQuery.raw(mark, [new Pipeline(statements)])
}

/** Makes a connection accept the queries of {@link pipelineOf}. */
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

/** A statement as it is sent, followed by the messages of `copy` if it is a `copy`. */
interface Statement {
  name: string
  text: string
  values: (string | Buffer | null)[]
  copy?: CopyMessages
}

/**
 * Implements pg's interface of a submittable query: it sends its own messages, and pg calls its handlers for the
 * answers.
 */
class Pipeline {
  readonly answered: Promise<{ command: 'SELECT'; rowCount: number; rows: [] }>
  readonly #statements: readonly Statement[]
  readonly #answer = Promise.withResolvers<{ command: 'SELECT'; rowCount: number; rows: [] }>()
  /** Statements whose Parse message Postgres has not answered yet, in the order of the answers. */
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

  /** Sends the statements and one Sync. After an error, Postgres skips everything up to the Sync. */
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
        // After an error, Postgres skips these messages as well.
        for (const part of copy?.parts ?? []) connection.stream.write(part)
        if (text === 'begin') sendTransactionSettings(connection)
      }
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  /** Whether Postgres knows the prepared statement, or will know it before this pipeline binds it. */
  #isKnown(connection: Sending, name: string): boolean {
    if (name === '') return false
    return connection.parsedStatements[name] !== undefined || this.#toParse.some((statement) => statement.name === name)
  }

  /**
   * Records each statement as soon as Postgres has parsed it. A prepared statement outlives a failure of a later
   * statement and the rollback. An ordinary query would prepare an unrecorded statement again under the same name,
   * which Postgres refuses.
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

  /** Postgres asks for the rows of a `copy`, which are already in flight. */
  handleCopyInResponse(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
}

/** The parts of pg's connection that a pipeline uses. The published types of pg lack some of them. */
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
  throw new TypeError(`a pipeline accepts no parameter such as ${typeof value}`)
}
