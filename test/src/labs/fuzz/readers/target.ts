import { crc32 } from 'node:zlib'
import fc from 'fast-check'
import { pick, type Random, seeded } from '../../../environment/random.ts'
import { edited, editsOf, latin1 } from '../edits.ts'

/** A reader of untrusted bytes, with the rules that hold for any input. */
export interface Target {
  name: string
  /** Texts with a meaning for the reader. Texts are Latin-1: each character stands for a byte. */
  dictionary: readonly string[]
  /** Inputs from which others are made. */
  seeds: readonly (string | Buffer)[]
  /**
   * Reads an input, and throws if a rule is broken. `random` depends only on the input, so the bytes of an input repeat
   * its check.
   */
  check(input: Buffer, random: Random): void | Promise<void>
}

/** Processor time in which a reader must finish any input of up to 64 KiB, ms. */
const longestMs = 3_000

/** Checks one input. Throws if a rule is broken, or if the check takes too long. */
export async function checkInput(target: Target, input: Buffer): Promise<void> {
  const begun = process.cpuUsage()
  await target.check(input, seeded(crc32(input)))
  const { user, system } = process.cpuUsage(begun)
  const took = Math.round((user + system) / 1_000)
  if (took > longestMs) throw new Error(`${input.length} bytes took ${took} ms of processor time`)
}

/** Checks the seeds of a target and `inputs` changed ones. Returns the shortest input found that breaks a rule. */
export async function fuzz(
  target: Target,
  { inputs, seed }: { inputs: number; seed: number },
): Promise<{ input: Buffer; error: unknown } | undefined> {
  const seeds = [...target.seeds.map(latin1), Buffer.alloc(0)]
  const changed = fc
    .tuple(fc.constantFrom(...seeds), editsOf(target.dictionary, seeds))
    .map(([input, edits]) => edited(input, edits))
  const result = await fc.check(
    fc.asyncProperty(changed, (input) => checkInput(target, input)),
    { numRuns: inputs, seed, examples: seeds.map((input) => [input]) },
  )
  return result.failed
    ? { input: result.counterexample?.[0] ?? Buffer.alloc(0), error: result.errorInstance }
    : undefined
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
