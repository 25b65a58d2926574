import { pick, type Random } from '../../../environment/random.ts'

/** A reader of untrusted bytes, with the rules that hold for any input. */
export interface Target {
  name: string
  /** The target's share of all inputs, relative to the weights of the other targets. */
  weight: number
  /** Texts with a meaning for the reader, which mutations insert. */
  dictionary: readonly string[]
  /** Returns inputs in addition to the corpus: inputs that cannot be kept in a file, such as signed inputs. */
  seeds?(): Buffer[]
  /**
   * Reads an input, and throws if a rule is broken. `random` depends only on the input, so the bytes of an input repeat
   * its check.
   */
  check(input: Buffer, random: Random): void | Promise<void>
}

/** The result of reading an input: a value, or the text of a documented error. */
export type Outcome<Value> = { value: Value } | { refusal: string }

/**
 * Reads an input. `refusalOf` returns the text of a documented error, and undefined for any other error. Other errors
 * pass through.
 */
export async function outcomeOf<Value>(
  read: () => Value | Promise<Value>,
  refusalOf: (error: unknown) => string | undefined,
): Promise<Outcome<Value>> {
  try {
    return { value: await read() }
  } catch (error) {
    const refusal = refusalOf(error)
    if (refusal === undefined) throw error
    return { refusal }
  }
}

/** The length of the longest input that is compared with a slow reference, bytes. */
export const longestCompared = 4_096

/** Cuts bytes at random places; short bytes are sometimes cut after every byte. Pieces may be empty. */
export function pieces(bytes: Buffer, random: Random): Buffer[] {
  const isEveryByte = bytes.length < 64 && random(4) === 0
  const places = isEveryByte
    ? Array.from(bytes, (_, index) => index)
    : Array.from({ length: 1 + random(4) }, () => random(bytes.length + 1)).sort((a, b) => a - b)
  return [...places, bytes.length].map((end, index) => bytes.subarray(index === 0 ? 0 : places[index - 1], end))
}

/** Yields chunks as a stream does. */
export async function* streamOf(chunks: readonly Buffer[]): AsyncGenerator<Buffer> {
  yield* chunks
}

/** Returns one of the alternatives in about half of the cases, otherwise undefined. */
export function sometimes<Value>(values: readonly Value[], random: Random): Value | undefined {
  return random(2) === 0 ? undefined : pick(values, random)
}
