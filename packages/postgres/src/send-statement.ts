/** The parts of pg's connection that send a statement without parameters. */
export interface Sending {
  parse(statement: { name: ''; text: string; types: [] }): void
  bind(config: { statement: string; values: [] }): void
  execute(config: { portal: ''; rows: 0 }): void
}

/** Sends a prepared statement without parameters, as a part of a larger message. */
export function sendPrepared(connection: Omit<Sending, 'parse'>, name: string): void {
  connection.bind({ statement: name, values: [] })
  connection.execute({ portal: '', rows: 0 })
}

/** Sends a statement that is not prepared, as a part of a larger message. */
export function sendText(connection: Sending, text: string): void {
  connection.parse({ name: '', text, types: [] })
  sendPrepared(connection, '')
}
