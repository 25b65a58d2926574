import { type Contender, measure } from './contender.ts'
import { type EndState, endState, sizeOnDisk } from './end-state.ts'
import { type BenchEnvironment, openBenchEnvironment, templates } from './environment.ts'
import { expert } from './expert.ts'
import { type MadeFile, type Shape, shapesOf } from './file.ts'
import { floor } from './floor.ts'
import { naive } from './naive.ts'
import { type Options, type Part, type Phase, phases, type Variant, variants } from './options.ts'
import { Results } from './results.ts'
import { sluice } from './sluice.ts'

/**
 * Runs the contenders one at a time, round by round, and compares their end states.
 *
 * Returns the measurements. Throws if an import does not end as it should, or if two contenders wrote different
 * profiles.
 */
export async function runContenders(options: Options, log: (line: string) => void): Promise<Results> {
  const shapes = shapesOf(options.rows)
  log(`registering the users of ${options.rows} rows`)
  await using environment = await openBenchEnvironment(options.rows)
  const { postgres, home } = environment
  const yardsticks = [floor, expert, naive].map((contender) => contender(postgres, templates.yardsticks))
  const all = [...yardsticks, sluice(postgres, templates.sluice, home)]
  const expertAndSluice = all.filter(({ name }) => name === 'expert' || name === 'Sluice')
  const results = new Results()
  for (let round = 0; round < options.rounds; round++) {
    log(`round ${round + 1} of ${options.rounds}`)
    const context = { environment, results, round, log }
    await runPhases(context, all, wantedPhases(options.parts), shapes)
    for (const variant of variants.filter((name) => options.parts.has(name))) {
      await copyTemplates(environment, expertAndSluice)
      const shapeFor = ({ name }: Contender) =>
        variant === 'invalid' && name === 'expert' ? shapes.valid : shapes[variant]
      await runPart(context, variant, expertAndSluice, shapeFor)
    }
  }
  return results
}

/** What every part of a round needs. */
interface RoundContext {
  environment: BenchEnvironment
  results: Results
  round: number
  log(line: string): void
}

/** Returns all phases up to the last wanted phase, since each phase begins with the result of the preceding phase. */
function wantedPhases(parts: ReadonlySet<Part>): readonly Phase[] {
  return phases.slice(0, phases.findLastIndex((phase) => parts.has(phase)) + 1)
}

async function runPhases(
  context: RoundContext,
  contenders: readonly Contender[],
  wanted: readonly Phase[],
  shapes: Record<'first' | 'changed', Shape>,
): Promise<void> {
  if (wanted.length > 0) await copyTemplates(context.environment, contenders)
  for (const phase of wanted) {
    await runPart(context, phase, contenders, () => shapes[phase === 'changed' ? 'changed' : 'first'])
  }
}

async function copyTemplates({ postgres }: BenchEnvironment, contenders: readonly Contender[]): Promise<void> {
  for (const { template, database } of contenders) await postgres.copyDatabase(template, database)
}

/** Measures each contender's import of a file, and compares the results. The first contender changes with the round. */
async function runPart(
  { environment, results, round, log }: RoundContext,
  part: Phase | Variant,
  contenders: readonly Contender[],
  shapeFor: (contender: Contender) => Shape,
): Promise<void> {
  const first = round % contenders.length
  const files = new Map<Contender, MadeFile>()
  for (const contender of contenders) files.set(contender, await environment.file(shapeFor(contender)))
  for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
    const file = files.get(contender)
    if (file === undefined) continue
    const measured = await measure(environment.postgres, contender, file)
    results.add(part, contender.name, measured)
    log(`${part.padEnd(10)}${contender.name.padEnd(8)}${measured.seconds.toFixed(2).padStart(8)} s`)
  }
  await compare(environment, part, contenders, files)
  for (const contender of contenders) {
    if (contender.profiles === undefined) continue
    results.setSize(part, contender.name, await sizeOnDisk(environment.postgres, contender))
  }
}

/** Throws if contenders wrote different profiles. */
async function compare(
  { postgres }: BenchEnvironment,
  part: Part,
  contenders: readonly Contender[],
  files: ReadonlyMap<Contender, MadeFile>,
): Promise<void> {
  const states = contenders.flatMap((contender) => {
    const file = files.get(contender)
    if (contender.profiles === undefined || file === undefined) return []
    return [endState(postgres, contender, file).then((state) => ({ name: contender.name, state }))]
  })
  const left = await Promise.all(states)
  const inWords = ({ profiles, hash }: EndState) => `${profiles} profiles, hash ${hash}`
  if (new Set(left.map(({ state }) => inWords(state))).size === 1) return
  const lines = left.map(({ name, state }) => `${name}: ${inWords(state)}`)
  throw new Error(`${part}: the end states differ\n${lines.join('\n')}`)
}
