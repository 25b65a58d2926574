import type { Socket } from 'node:net'
import type { PooledServer } from './pooled-server.ts'
import { cutText, type Message, MessageReader, messageBytes } from './postgres-messages.ts'

/** Lends connections to Postgres, for one transaction each. */
interface Lender {
  borrow(): Promise<PooledServer>
  release(server: PooledServer): void
  /** Replaces a connection whose client is gone in the middle of a transaction. */
  replace(server: PooledServer): void
}

/** The startup parameters that PgBouncer accepts by default. */
const knownParameters = ['user', 'database', 'application_name', 'client_encoding', 'DateStyle', 'TimeZone']

const sslRequest = 80_877_103

export class PooledClient {
  readonly #socket: Socket
  readonly #lender: Lender
  readonly #reader = new MessageReader()
  readonly #statements = new Map<string, Buffer>()
  #loggedIn = false
  #server: PooledServer | undefined
  #ended = false

  constructor(socket: Socket, lender: Lender) {
    this.#socket = socket
    this.#lender = lender
    socket.on('error', () => {}) // 'close' follows
    socket.on('data', (chunk: Buffer) => {
      socket.pause()
      void this.#receive(chunk).then(
        () => socket.resume(),
        () => socket.destroy(),
      )
    })
  }

  end(): void {
    this.#ended = true
    if (this.#server !== undefined) this.#lender.replace(this.#server)
    this.#server = undefined
  }

  async #receive(chunk: Buffer): Promise<void> {
    if (!this.#loggedIn) return this.#logIn(chunk)
    for (const message of this.#reader.read(chunk)) {
      if (message.type === 'X') return void this.#socket.destroy()
      const server = this.#server ?? (await this.#borrow())
      server.send(message, this.#statements)
    }
  }

  async #borrow(): Promise<PooledServer> {
    const server = await this.#lender.borrow()
    if (this.#ended) {
      this.#lender.release(server)
      throw new Error('the client is gone')
    }
    this.#server = server
    server.onMessage = (message) => this.#answer(message, server)
    return server
  }

  #answer({ type, body }: Message, server: PooledServer): void {
    this.#socket.write(messageBytes(type, body))
    const isIdle = type === 'Z' && body.toString() === 'I'
    if (!isIdle || !server.isQuiet) return
    this.#server = undefined
    this.#lender.release(server)
  }

  #logIn(startup: Buffer): void {
    if (startup.readInt32BE(4) === sslRequest) {
      this.#socket.write('N')
      return
    }
    let rest = startup.subarray(8)
    while (rest.length > 1) {
      const [name, afterName] = cutText(rest)
      const [, afterValue] = cutText(afterName)
      rest = afterValue
      if (!knownParameters.includes(name)) {
        this.#refuse(`unsupported startup parameter: ${name}`)
        return
      }
    }
    this.#loggedIn = true
    this.#socket.write(messageBytes('R', Buffer.alloc(4)))
    this.#socket.write(messageBytes('Z', 'I'))
  }

  #refuse(reason: string): void {
    this.#socket.end(messageBytes('E', `SFATAL\0VFATAL\0C08P01\0M${reason}\0\0`))
  }
}
