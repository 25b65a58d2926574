/** A message of Postgres's protocol: its type, and its content after the length. */
export interface Message {
  type: string
  body: Buffer
}

export class MessageReader {
  #rest = Buffer.alloc(0)

  /** Returns the messages that `chunk` completes. */
  read(chunk: Buffer): Message[] {
    this.#rest = Buffer.concat([this.#rest, chunk])
    const messages: Message[] = []
    let offset = 0
    while (this.#rest.length >= offset + 5) {
      const end = offset + 1 + this.#rest.readInt32BE(offset + 1)
      if (this.#rest.length < end) break
      messages.push({
        type: String.fromCharCode(this.#rest[offset] ?? 0),
        body: this.#rest.subarray(offset + 5, end),
      })
      offset = end
    }
    this.#rest = this.#rest.subarray(offset)
    return messages
  }
}

export function messageBytes(type: string, ...parts: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const head = Buffer.alloc(5)
  head.write(type)
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}

/** Splits the text up to the next zero byte from the bytes after it. */
export function cutText(bytes: Buffer): [text: string, rest: Buffer] {
  const end = bytes.indexOf(0)
  return [bytes.toString('utf8', 0, end), bytes.subarray(end + 1)]
}
