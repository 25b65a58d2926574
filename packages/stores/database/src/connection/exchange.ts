import type pg from 'pg'
import { bindMessage } from './bind-message.ts'

/** A statement as a connection sends it. */
export interface Statement {
  text: string
  values: readonly unknown[]
  /** The name under which the connection prepares the statement; without a name, Postgres plans it each time. */
  name?: string | undefined
  /** The messages with the rows of a `copy … from stdin`. */
  copyMessages?: readonly Buffer[] | undefined
  /** Whether the rows of the statement are returned. */
  returnsRows?: boolean
}

/** What Postgres answered to the last statement of an exchange. */
export interface Result {
  /** The first word of the statement's tag, such as `UPDATE`. */
  command: string
  rowCount: number | null
  rows: Record<string, unknown>[]
}

/**
 * Names of the statements that a connection has sent for preparation, and whether Postgres has surely prepared each.
 */
export type PreparedNames = Map<string, boolean>

/**
 * Statements that a connection sends at once, with one Sync. If one fails, Postgres skips the following ones. A single
 * statement without values and name may consist of several statements in one text.
 *
 * Implements pg's interface of a submittable query: pg calls `submit` when the connection is free, and passes each
 * answer of Postgres to the handlers. The constructor throws a `TypeError` if a value cannot be sent.
 */
export class Exchange implements pg.Submittable {
  /** Receives the error or the result. pg and its instrumentation for traces wrap it. */
  callback: (error: unknown, result?: Result) => void = () => {}
  /** The statements as traces show them. */
  text = ''
  readonly #statements: readonly Statement[]
  readonly #binds: readonly (readonly Buffer[])[]
  readonly #client: pg.ClientBase
  readonly #prepared: PreparedNames
  /** Names of the statements that this exchange prepares. */
  readonly #preparing: string[] = []
  #columns: { name: string; parse(text: string): unknown }[] | undefined
  #result: Result = { command: '', rowCount: null, rows: [] }
  #unreadable: unknown

  constructor(client: pg.ClientBase, prepared: PreparedNames, statements: readonly Statement[]) {
    this.#client = client
    this.#prepared = prepared
    this.#statements = statements
    this.#binds = statements.map(({ name, values }) => bindMessage(name, values))
  }

  submit(connection: pg.Connection): void {
    const [first] = this.#statements
    if (first !== undefined && this.#statements.length === 1 && isPlain(first)) connection.query(first.text)
    else this.#sendAll(connection)
  }

  #sendAll(connection: pg.Connection): void {
    connection.stream.cork()
    try {
      for (const [index, statement] of this.#statements.entries()) {
        this.#parse(connection, statement)
        for (const part of this.#binds[index] ?? []) connection.stream.write(part)
        if (statement.returnsRows) connection.describe({ type: 'P' }, true)
        connection.execute(null, true)
        // If a statement has failed, Postgres skips these messages as well.
        for (const part of statement.copyMessages ?? []) connection.stream.write(part)
      }
      connection.sync()
    } finally {
      connection.stream.uncork()
    }
  }

  #parse(connection: pg.Connection, { name = '', text }: Statement): void {
    if (this.#prepared.get(name) === true) return
    // After a refused exchange, Postgres may or may not know the name. Closing an unknown name does nothing.
    if (this.#prepared.has(name)) connection.close({ type: 'S', name }, true)
    connection.parse({ name, text, types: [] }, true)
    if (name === '') return
    this.#prepared.set(name, true)
    this.#preparing.push(name)
  }

  handleRowDescription({ fields }: { fields: pg.FieldDef[] }): void {
    this.#columns = fields.map(({ name, dataTypeID }) => ({ name, parse: this.#client.getTypeParser(dataTypeID) }))
    this.#result.rows = []
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    // Without a description, the row belongs to a statement whose rows are not returned.
    if (this.#columns === undefined) return
    const row: Record<string, unknown> = {}
    try {
      for (const [index, { name, parse }] of this.#columns.entries()) {
        const text = fields[index] ?? null
        row[name] = text === null ? null : parse(text)
      }
    } catch (error) {
      this.#unreadable = error
    }
    this.#result.rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }): void {
    const [command = '', ...counts] = text.split(' ')
    const count = Number(counts.at(-1))
    this.#result = { ...this.#result, command, rowCount: Number.isNaN(count) ? null : count }
  }

  handleError(error: Error): void {
    for (const name of this.#preparing) this.#prepared.set(name, false)
    this.callback(error)
  }

  handleReadyForQuery(): void {
    if (this.#unreadable === undefined) this.callback(undefined, this.#result)
    else this.callback(this.#unreadable)
  }

  /** Postgres asks for the rows of a `copy`, which are already in flight. */
  handleCopyInResponse(): void {}
  handleCopyData(): void {}
  handleEmptyQuery(): void {}
}

/** Whether Postgres's simple protocol can send a statement, which may be several in one text. */
function isPlain({ values, name, copyMessages }: Statement): boolean {
  return values.length === 0 && name === undefined && copyMessages === undefined
}
