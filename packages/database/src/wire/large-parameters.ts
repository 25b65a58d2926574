import pg from 'pg'

/** Parameters of at least this size are sent without being copied. */
const largeBytes = 16 * 2 ** 10

/** The content of a Bind message, as pg passes it to `connection.bind`. */
interface BindConfig {
  portal?: string
  statement?: string
  binary?: boolean
  values?: readonly unknown[]
  valueMapper?: (value: unknown, index: number) => unknown
}

/**
 * Makes a connection send a statement's large Buffers without copying them. pg itself copies each Buffer into a newly
 * allocated message, and an import's batches are megabytes. The caller must not change such a Buffer before the answer.
 */
export function sendLargeParametersUncopied(client: pg.ClientBase): void {
  if (!(client instanceof pg.Client)) return
  const { connection } = client
  const bind = connection.bind
  Object.assign(connection, {
    bind(config: BindConfig, more: boolean): void {
      const isLarge = config.values?.some((value) => Buffer.isBuffer(value) && value.length >= largeBytes)
      if (isLarge !== true) Reflect.apply(bind, connection, [config, more])
      else for (const part of bindMessage(config)) connection.stream.write(part)
    },
  })
}

/**
 * Builds the parts of a Bind message of Postgres's protocol. pg has corked the stream, so the parts are sent together.
 */
function bindMessage({ portal = '', statement = '', binary = false, values = [], valueMapper }: BindConfig): Buffer[] {
  const parameters = values.map((value, index) => {
    const mapped = valueMapper === undefined ? value : valueMapper(value, index)
    return mapped === null || mapped === undefined || Buffer.isBuffer(mapped) ? mapped : String(mapped)
  })
  const formats = parameters.map((parameter) => (Buffer.isBuffer(parameter) ? 1 : 0))
  const body = [
    Buffer.from(`${portal}\0${statement}\0`),
    int16s(formats.length, ...formats, parameters.length),
    ...parameters.flatMap(lengthAndBytes),
    int16s(1, binary ? 1 : 0),
  ]
  const length = body.reduce((sum, part) => sum + part.length, 4)
  return [Buffer.from('B'), int32(length), ...body]
}

function lengthAndBytes(parameter: Buffer | string | null | undefined): Buffer[] {
  if (parameter === null || parameter === undefined) return [int32(-1)]
  const bytes = typeof parameter === 'string' ? Buffer.from(parameter) : parameter
  return [int32(bytes.length), bytes]
}

function int16s(...numbers: number[]): Buffer {
  const buffer = Buffer.alloc(numbers.length * 2)
  for (const [index, number] of numbers.entries()) buffer.writeInt16BE(number, index * 2)
  return buffer
}

function int32(number: number): Buffer {
  const buffer = Buffer.alloc(4)
  buffer.writeInt32BE(number)
  return buffer
}
