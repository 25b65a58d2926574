import { EventEmitter } from 'node:events'
import { connect, type Socket } from 'node:net'
import { listenForLinks } from '../../faults/harness/tcp-proxy.ts'
import { cutText, type Message, MessageReader, messageBytes } from '../../infra/postgres-messages.ts'

/** Statements that neither read nor write a table. They commute with every statement, so they need no decision. */
const neutral = /^\s*(?:begin|start transaction|set |select set_config)/i
const begins = /^\s*(?:begin|start transaction)/i
const commits = /^\s*commit/i
const reads = /^\s*select/i

/**
 * A proxy in front of Postgres that lets one statement of an actor proceed at a time.
 *
 * While the gate is closed, a statement waits for {@link GatedConnection.release}. Statements of one pipeline wait one
 * by one: the gate asks Postgres to flush its answer after each. Emits `change` whenever a connection has a new state.
 */
export interface Gate extends EventEmitter {
  port: number
  /** Open: everything passes at once. */
  isOpen: boolean
  connections: ReadonlySet<GatedConnection>
  close(): Promise<void>
}

/** Starts an open gate on a free port, in front of the Postgres at `target`. */
export async function startGate(target: { host: string; port: number }): Promise<Gate> {
  const gate = Object.assign(new EventEmitter(), {
    ...{ port: 0, isOpen: true, connections: new Set<GatedConnection>() as ReadonlySet<GatedConnection> },
    close: async () => {},
  })
  const { port, links, close } = await listenForLinks({}, (client) => {
    return new GatedConnection(gate, client, connect(target))
  })
  return Object.assign(gate, { port, connections: links, close })
}

/** One connection through a gate. */
export class GatedConnection {
  /** The process ID of the session in Postgres. */
  pid = 0
  /** When the last statement was released, on the clock of `performance.now()`. */
  releasedAt = 0
  /** Messages that wait at the gate. */
  #waiting: Message[] = []
  /** Answers to released statements that Postgres has yet to send; `sync` is the answer to a Sync or a simple query. */
  #owed: ('statement' | 'sync')[] = []
  #isLoggedIn = false
  #isInTransaction = false
  #isCut = false
  readonly #texts = new Map<string, string>()
  readonly #gate: Gate
  readonly #client: Socket
  readonly #server: Socket

  constructor(gate: Gate, client: Socket, server: Socket) {
    this.#gate = gate
    this.#client = client
    this.#server = server
    // Otherwise, each statement would wait 40 ms for an acknowledgement.
    for (const socket of [client, server]) socket.setNoDelay(true)
    const [fromClient, fromServer] = [new MessageReader(), new MessageReader()]
    client.on('data', (chunk: Buffer) => {
      // The first message has no type. Nothing else follows until the server is ready.
      if (!this.#isLoggedIn && this.pid === 0) return void server.write(chunk)
      this.#waiting.push(...fromClient.read(chunk))
      this.#forwardNeutral()
      gate.emit('change')
    })
    server.on('data', (chunk: Buffer) => {
      for (const message of fromServer.read(chunk)) this.#note(message)
      if (this.#isCut) return
      client.write(chunk)
      this.#forwardNeutral()
      gate.emit('change')
    })
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => {})
      one.on('close', () => void (this.#isCut || other.destroy()))
    }
  }

  /** A statement waits at the gate. */
  get isWaiting(): boolean {
    return this.#owed.length === 0 && this.#waiting.some(isStatement)
  }

  /** Postgres executes a statement, or the statement waits for a lock. */
  get isExecuting(): boolean {
    return this.#owed.length > 0
  }

  /** Returns the text of the next statement. */
  get nextText(): string {
    return this.#textOf(this.#waiting)
  }

  /** Whether the next statement commits something. */
  get commitsNext(): boolean {
    const text = this.nextText
    return commits.test(text) || !(this.#isInTransaction || reads.test(text))
  }

  release(): void {
    this.releasedAt = performance.now()
    this.#send(this.#takeStatement())
  }

  /**
   * Ends the connection as the death of the client does: Postgres executes what it has received, and its answers are
   * lost.
   */
  cut(): void {
    this.#isCut = true
    this.#client.destroy()
    this.#server.end()
  }

  reset(): void {
    this.#client.destroy()
    if (this.#isCut) return
    this.#server.destroy()
  }

  /** Forwards what needs no decision: everything if the gate is open, else neutral statements. */
  #forwardNeutral(): void {
    if (this.#gate.isOpen) {
      this.#send(this.#waiting.splice(0))
      return
    }
    for (;;) {
      if (this.#owed.length > 0 || this.#waiting.length === 0) return
      const isComplete = this.#waiting.some(isStatement)
      if (isComplete && !neutral.test(this.#textOf(this.#waiting))) return
      if (!isComplete && !this.#waiting.some(({ type }) => type === 'S' || type === 'X')) return
      this.#send(isComplete ? this.#takeStatement() : this.#waiting.splice(0))
    }
  }

  /** Removes and returns the messages of the next statement: up to its Execute, the rows of a copy, and a Sync. */
  #takeStatement(): Message[] {
    let end = this.#waiting.findIndex(isStatement) + 1
    while (['d', 'c', 'f'].includes(this.#waiting[end]?.type ?? '')) end++
    if (this.#waiting[end]?.type === 'S') end++
    return this.#waiting.splice(0, end)
  }

  #send(messages: readonly Message[]): void {
    if (begins.test(this.#textOf(messages))) this.#isInTransaction = true
    for (const { type, body } of messages) {
      if (type === 'P') this.#noteText(body)
      this.#server.write(messageBytes(type, body))
      if (type === 'E') this.#owed.push('statement')
      if (type === 'Q' || type === 'S') this.#owed.push('sync')
    }
    const last = messages.at(-1)
    // Without a Sync, Postgres would keep the answer in its buffer.
    if (last !== undefined && last.type !== 'S' && last.type !== 'Q') this.#server.write(messageBytes('H'))
  }

  #note({ type, body }: Message): void {
    if (type === 'K') this.pid = body.readInt32BE(0)
    if (type === 'Z') {
      this.#isLoggedIn = true
      if (body.toString() === 'I') this.#isInTransaction = false
      const sync = this.#owed.indexOf('sync')
      this.#owed.splice(0, sync + 1)
    }
    const answersStatement = type === 'C' || type === 'I' || type === 's'
    if (answersStatement && this.#owed[0] === 'statement') this.#owed.shift()
    // Postgres skips everything up to the Sync, which therefore needs no decision.
    if (type === 'E' && this.#owed.length > 0 && !this.#owed.includes('sync')) {
      const sync = this.#waiting.findIndex((message) => message.type === 'S')
      if (sync !== -1) this.#send(this.#waiting.splice(0, sync + 1))
    }
  }

  #noteText(body: Buffer): void {
    const [name, rest] = cutText(body)
    this.#texts.set(name, cutText(rest)[0])
  }

  #textOf(messages: readonly Message[]): string {
    const statement = messages.find(isStatement)
    if (statement?.type === 'Q') return cutText(statement.body)[0]
    for (const { type, body } of messages) {
      if (type === 'P') return cutText(cutText(body)[1])[0]
      if (type === 'B') return this.#texts.get(cutText(cutText(body)[1])[0]) ?? ''
    }
    return ''
  }
}

function isStatement({ type }: Message): boolean {
  return type === 'E' || type === 'Q'
}
