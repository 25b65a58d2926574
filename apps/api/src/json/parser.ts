import { JsonNumber } from '@sluice/contract'

/** The text is not JSON (design.md §3, Malformed JSON). */
export class JsonSyntaxError extends Error {
  override readonly name = 'JsonSyntaxError'
}

/** The text has more values than allowed. */
export class TooManyValues extends Error {
  override readonly name = 'TooManyValues'
}

type Container = unknown[] | Record<string, unknown>

/** The tokens that the grammar allows next. */
type Expected = 'value' | 'value or ]' | 'key' | 'key or }' | ':' | ', or ]' | ', or }' | 'end'

/** The pieces of an incomplete value. A string ends at its quote, any other value at punctuation. */
interface Token {
  kind: 'string' | 'bare'
  pieces: string[]
  /** The last piece ended with a backslash, so the next character does not end the string. */
  isEscaped: boolean
}

/** What is expected where a value may begin. */
const beforeValue: ReadonlySet<Expected> = new Set(['value', 'value or ]'])

/**
 * Parses JSON that arrives in pieces of any length, with the same result as `JSON.parse`. Callers can do other work
 * between the pieces. `JSON.parse` would block the process for the whole document.
 *
 * The parser reads only the structure. It passes tokens to `JSON.parse`, which checks and decodes them.
 *
 * `keepsNumbers`: numbers that JavaScript would spell in another way become a `JsonNumber`.
 *
 * Throws {@link JsonSyntaxError}. Throws {@link TooManyValues} beyond `maxValues` values and keys, which bounds the
 * memory of the result.
 */
export class JsonParser {
  readonly #maxValues: number
  readonly #keepsNumbers: boolean
  readonly #stack: Container[] = []
  /** Keys without a value yet, at most one for each open object. */
  readonly #keys: string[] = []
  #expected: Expected = 'value'
  #token: Token | undefined
  #values = 0
  #result: unknown

  constructor(maxValues: number, keepsNumbers = false) {
    this.#maxValues = maxValues
    this.#keepsNumbers = keepsNumbers
  }

  /** Parses the next piece. */
  write(text: string): void {
    let at = 0
    while (at < text.length) {
      if (this.#token === undefined) at = this.#readStructure(text, at)
      else if (this.#token.kind === 'string') at = this.#readString(this.#token, text, at)
      else at = this.#readBare(this.#token, text, at)
    }
  }

  /** Returns the value. Must be called after the last piece. */
  end(): unknown {
    if (this.#token?.kind === 'bare') this.#finish(this.#token, '')
    if (this.#expected !== 'end') throw new JsonSyntaxError()
    return this.#result
  }

  /** Reads one character between tokens. Returns the offset at which to continue. */
  #readStructure(text: string, at: number): number {
    const character = text[at]
    switch (character) {
      case ' ':
      case '\n':
      case '\r':
      case '\t':
        break
      case '"':
        if (!beforeValue.has(this.#expected) && !this.#expected.startsWith('key')) throw new JsonSyntaxError()
        this.#token = { kind: 'string', pieces: [], isEscaped: false }
        break
      case '{':
        this.#open({}, 'key or }')
        break
      case '[':
        this.#open([], 'value or ]')
        break
      case '}':
        this.#close(', or }', 'key or }')
        break
      case ']':
        this.#close(', or ]', 'value or ]')
        break
      case ':':
        this.#pass(':', 'value')
        break
      case ',':
        if (this.#expected === ', or }') this.#expected = 'key'
        else this.#pass(', or ]', 'value')
        break
      default:
        if (!beforeValue.has(this.#expected)) throw new JsonSyntaxError()
        this.#token = { kind: 'bare', pieces: [], isEscaped: false }
        return at
    }
    return at + 1
  }

  /** Reads a string up to its quote or the end of the piece. Returns the offset at which to continue. */
  #readString(token: Token, text: string, from: number): number {
    let at = from
    if (token.isEscaped) at++
    token.isEscaped = false
    for (; at < text.length; at++) {
      const character = text[at]
      if (character === '"') {
        this.#finish(token, text.slice(from, at))
        return at + 1
      }
      if (character === '\\') at++
    }
    token.isEscaped = at > text.length
    token.pieces.push(text.slice(from))
    return text.length
  }

  /**
   * Reads a number, `true`, `false` or `null` up to its end or the end of the piece. Returns the offset at which to
   * continue.
   */
  #readBare(token: Token, text: string, from: number): number {
    let at = from
    while (at < text.length && !' \n\r\t,]}:["{'.includes(text.charAt(at))) at++
    if (at === text.length) token.pieces.push(text.slice(from))
    else this.#finish(token, text.slice(from, at))
    return at
  }

  #finish({ kind, pieces }: Token, last: string): void {
    this.#token = undefined
    const text = pieces.length === 0 ? last : pieces.join('') + last
    const value = decode(kind === 'string' ? `"${text}"` : text)
    this.#count()
    if (typeof value === 'string' && this.#expected.startsWith('key')) {
      this.#keys.push(value)
      this.#expected = ':'
    } else {
      const isRespelled = this.#keepsNumbers && typeof value === 'number' && String(value) !== text
      this.#add(isRespelled ? new JsonNumber(text) : value)
    }
  }

  #open(container: Container, expected: Expected): void {
    if (!beforeValue.has(this.#expected)) throw new JsonSyntaxError()
    this.#count()
    this.#stack.push(container)
    this.#expected = expected
  }

  #close(expected: Expected, whenEmpty: Expected): void {
    if (this.#expected !== expected && this.#expected !== whenEmpty) throw new JsonSyntaxError()
    this.#add(this.#stack.pop())
  }

  #pass(expected: Expected, next: Expected): void {
    if (this.#expected !== expected) throw new JsonSyntaxError()
    this.#expected = next
  }

  /** Adds a value to the innermost open container. */
  #add(value: unknown): void {
    const container = this.#stack.at(-1)
    if (container === undefined) {
      this.#result = value
      this.#expected = 'end'
    } else if (Array.isArray(container)) {
      container.push(value)
      this.#expected = ', or ]'
    } else {
      addMember(container, this.#keys.pop() ?? '', value)
      this.#expected = ', or }'
    }
  }

  #count(): void {
    this.#values++
    if (this.#values > this.#maxValues) throw new TooManyValues()
  }
}

/** Adds a member to an object. An assignment to `__proto__` would change the object's prototype instead. */
function addMember(object: Record<string, unknown>, key: string, value: unknown): void {
  if (key !== '__proto__') object[key] = value
  else Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true })
}

function decode(token: string): unknown {
  try {
    return JSON.parse(token)
  } catch (cause) {
    throw new JsonSyntaxError(undefined, { cause })
  }
}
