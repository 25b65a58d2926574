import { readdirSync, readFileSync } from 'node:fs'
import { crc32 } from 'node:zlib'
import { seeded } from '../../../environment/random.ts'
import type { Coverage } from './coverage.ts'
import { mutated } from './mutate.ts'
import type { Target } from './target.ts'

const corpus = new URL('../corpus/', import.meta.url)

/** Processor time in which a reader must finish any input of up to 64 KiB, ms. */
const longestMs = 3_000
/** Number of inputs between two measurements of coverage. */
const inputsPerMeasurement = 250
/** Maximum number of inputs that a run adds to the corpus, in memory. */
const maxFound = 2_000

/** A broken rule, with the input that broke it. */
export interface Violation {
  target: string
  input: Buffer
  error: unknown
}

/** The result of fuzzing one target. */
export interface TargetRun {
  inputs: number
  /** Inputs that reached new code, beyond the corpus. */
  found: number
  violation: Violation | undefined
  seconds: number
}

/** Returns the inputs of a target that are kept in the repository. */
function corpusOf({ name, seeds }: Target): Buffer[] {
  const folder = new URL(`${name}/`, corpus)
  const files = readdirSync(corpus).includes(name) ? readdirSync(folder).sort() : []
  return [...files.map((file) => readFileSync(new URL(file, folder))), ...(seeds?.() ?? []), Buffer.alloc(0)]
}

/** Checks one input. Returns the violation, if there is one. */
export async function checkInput(target: Target, input: Buffer): Promise<Violation | undefined> {
  const begun = process.cpuUsage()
  try {
    await target.check(input, seeded(crc32(input)))
  } catch (error) {
    return { target: target.name, input, error }
  }
  const { user, system } = process.cpuUsage(begun)
  const took = Math.round((user + system) / 1_000)
  if (took <= longestMs) return undefined
  return { target: target.name, input, error: new Error(`${input.length} bytes took ${took} ms of processor time`) }
}

/**
 * Sends `inputs` inputs to a target: first its corpus, then mutations. An input that reaches new code joins the pool of
 * inputs that are mutated. Ends at the first violation.
 *
 * Without coverage, only the corpus is mutated, and the seed alone determines the inputs.
 */
export async function fuzz(
  target: Target,
  { inputs, seed, coverage }: { inputs: number; seed: number; coverage?: Coverage },
): Promise<TargetRun> {
  const begun = performance.now()
  const pool = corpusOf(target)
  const kept = pool.length
  const random = seeded(seed ^ crc32(target.name))
  const sources = { dictionary: target.dictionary, pool }
  const seen = new Set<string>()
  let recent: Buffer[] = []
  let violation: Violation | undefined
  let count = 0
  coverage?.take() // what an earlier target reached
  for (; count < inputs && violation === undefined; count++) {
    const input = count < kept ? (pool[count] ?? Buffer.alloc(0)) : mutated(sources, random)
    violation = await checkInput(target, input)
    recent.push(input)
    if (coverage === undefined || recent.length < inputsPerMeasurement) continue
    if (pool.length - kept < maxFound) pool.push(...(await reachingMore(target, recent, { coverage, seen })))
    recent = []
  }
  const seconds = Math.round((performance.now() - begun) / 100) / 10
  return { inputs: count, found: pool.length - kept, violation, seconds }
}

/**
 * Returns the inputs that reached blocks which no earlier input had reached, and adds the blocks to `seen`. Repeats the
 * inputs one by one if there are such blocks, which is rare after the first seconds.
 */
async function reachingMore(
  target: Target,
  inputs: readonly Buffer[],
  { coverage, seen }: { coverage: Coverage; seen: Set<string> },
): Promise<Buffer[]> {
  const missing = coverage.take().difference(seen)
  const reaching: Buffer[] = []
  for (const input of missing.size === 0 ? [] : inputs) {
    await checkInput(target, input)
    const reached = coverage.take().intersection(missing)
    if (reached.size > 0) reaching.push(input)
    for (const block of reached) {
      missing.delete(block)
      seen.add(block)
    }
    if (missing.size === 0) break
  }
  // A block can depend on more than the input, such as the first use of a cache.
  for (const block of missing) seen.add(block)
  return reaching
}
