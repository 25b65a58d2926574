/** The parts of pg's connection that send a prepared statement. */
export interface Sending {
  bind(config: { statement: string; values: [] }): void
  execute(config: { portal: ''; rows: 0 }): void
}

/** Sends a prepared statement without parameters, as a part of a larger message. */
export function sendPrepared(connection: Sending, name: string): void {
  connection.bind({ statement: name, values: [] })
  connection.execute({ portal: '', rows: 0 })
}
