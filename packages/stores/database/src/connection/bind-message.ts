/** Messages of at least this size are sent without being copied. */
const largeBytes = 16 * 2 ** 10

/**
 * Builds the Bind message of Postgres's protocol, which gives a statement its values. Returns its parts, to be sent in
 * this order. A message of an import's batch has megabytes, so its Buffers are not copied: the caller must not change
 * them before the answer. Throws a `TypeError` if a value cannot be sent,
 * and a `RangeError` beyond 65,535 values.
 */
export function bindMessage(name: string | undefined, values: readonly unknown[]): Buffer[] {
  const parameters = values.map(toParameter)
  const formats = parameters.map((parameter) => (Buffer.isBuffer(parameter) ? 1 : 0))
  const body = [
    Buffer.from(`\0${name ?? ''}\0`), // the portal has no name
    uint16s(formats.length, ...formats, parameters.length),
    ...parameters.flatMap(lengthAndBytes),
    uint16s(0), // all columns come as text
  ]
  const length = body.reduce((sum, part) => sum + part.length, 4)
  const message = [Buffer.from('B'), int32(length), ...body]
  return length < largeBytes ? [Buffer.concat(message)] : message
}

/** Returns a value as Postgres reads it: text, or a Buffer in the binary format of the parameter's type. */
function toParameter(value: unknown): string | Buffer | null {
  if (value === null || value === undefined) return null
  if (Buffer.isBuffer(value) || typeof value === 'string') return value
  if (ArrayBuffer.isView(value)) return Buffer.from(value.buffer, value.byteOffset, value.byteLength)
  if (value instanceof Date) return timestampOf(value)
  if (Array.isArray(value)) return `{${value.map(toElement).join()}}`
  if (typeof value === 'object') return JSON.stringify(value)
  if (typeof value === 'number' || typeof value === 'boolean' || typeof value === 'bigint') return String(value)
  throw new TypeError(`Postgres accepts no parameter such as ${typeof value}`)
}

/** Returns a time as Postgres reads it. ISO 8601 writes years beyond 0001 to 9999 in another way. */
function timestampOf(date: Date): string {
  const text = date.toISOString()
  const year = date.getUTCFullYear()
  if (year > 9999) return text.slice(1)
  return year > 0 ? text : `${String(1 - year).padStart(4, '0')}${text.slice(text.indexOf('-', 1))} BC`
}

/** Returns an element of an array literal. */
function toElement(value: unknown): string {
  if (Array.isArray(value)) return `{${value.map(toElement).join()}}`
  const parameter = toParameter(value)
  if (parameter === null) return 'NULL'
  const text = typeof parameter === 'string' ? parameter : `\\x${parameter.toString('hex')}`
  return `"${text.replace(/["\\]/g, '\\$&')}"`
}

function lengthAndBytes(parameter: Buffer | string | null): Buffer[] {
  if (parameter === null) return [int32(-1)]
  const bytes = typeof parameter === 'string' ? Buffer.from(parameter) : parameter
  return [int32(bytes.length), bytes]
}

function uint16s(...numbers: number[]): Buffer {
  const buffer = Buffer.alloc(numbers.length * 2)
  for (const [index, number] of numbers.entries()) buffer.writeUInt16BE(number, index * 2)
  return buffer
}

function int32(number: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeInt32BE(number)
  return buffer
}
