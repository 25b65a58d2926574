import pg from 'pg'
import { precede } from './preceded-query.ts'
import { type Sending, sendPrepared, sendText } from './send-statement.ts'

/**
 * Settings of Postgres by name, such as `lock_timeout`. They apply to each transaction and each statement of a
 * connection, but never to its session: behind a pooler, other clients use the session too.
 */
export type TransactionSettings = Readonly<Record<string, string>>

/** The name of the prepared statement that applies the settings to the rest of a transaction. */
const name = 'sluice_settings'

/**
 * Statements that read or write rows. Others, such as `create database`, must not follow a statement in the same
 * message.
 */
const handlesRows = /^(?:\s|--[^\n]*\n|\/\*.*?\*\/)*(?:select|insert|update|delete|merge|with)\b/is

const opensTransaction = /^\s*(?:begin|start transaction)\b/i

/**
 * Sends the settings of {@link applySettings} within a pipeline. The pipeline must have just opened a transaction, and
 * must ignore the answers.
 */
export function sendTransactionSettings(connection: Omit<Sending, 'parse'>): void {
  sendPrepared(connection, name)
}

/**
 * Makes a new connection apply settings to everything that it sends. In the same message, the settings follow each
 * `begin` and precede each single statement that reads or writes rows. They cost no round trip. After the transaction
 * or the statement, Postgres restores the session's own values.
 */
export async function applySettings(client: pg.ClientBase, settings: TransactionSettings): Promise<void> {
  const statement = { name, text: settingsStatement(settings) }
  const query = client.query
  await client.query(statement)
  Object.assign(client, {
    query(...sent: unknown[]): unknown {
      const text = textOf(sent[0])
      if (text === undefined || client.getTransactionStatus() !== 'I') return Reflect.apply(query, client, sent)
      const send = (preceded: pg.Query) => void Reflect.apply(query, client, [preceded])
      if (opensTransaction.test(text)) return precede([statement], (connection) => sendText(connection, text), send)
      if (handlesRows.test(text)) return precede(sent, (connection) => sendPrepared(connection, name), send)
      return Reflect.apply(query, client, sent)
    },
  })
}

/** Returns the text of a query in any of the forms that pg accepts; undefined for an object that sends itself. */
function textOf(query: unknown): string | undefined {
  if (typeof query === 'string') return query
  if (typeof query !== 'object' || query === null || 'submit' in query || !('text' in query)) return undefined
  return typeof query.text === 'string' ? query.text : undefined
}

function settingsStatement(settings: TransactionSettings): string {
  const calls = Object.entries(settings).map(
    ([setting, value]) => `set_config(${pg.escapeLiteral(setting)}, ${pg.escapeLiteral(value)}, true)`,
  )
  return `select ${calls.join(', ')}`
}
