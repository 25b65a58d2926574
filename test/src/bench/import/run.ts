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
 * Runs the contenders in turn, one at a time, round by round, and holds their end states against each other.
 *
 * Gives what was measured. Throws where an import does not end as it should, or two contenders left different profiles.
 */
export async function runContenders(options: Options, say: (line: string) => void): Promise<Results> {
  const shapes = shapesOf(options.rows)
  say(`registering the users of ${options.rows} rows`)
  await using environment = await openBenchEnvironment(options.rows)
  const { postgres, home } = environment
  const yardsticks = [floor, expert, naive].map((contender) => contender(postgres, templates.yardsticks))
  const all = [...yardsticks, sluice(postgres, templates.sluice, home)]
  const pair = all.filter(({ name }) => name === 'expert' || name === 'Sluice')
  const results = new Results()
  for (let round = 0; round < options.rounds; round++) {
    say(`round ${round + 1} of ${options.rounds}`)
    const course = { environment, results, round, say }
    await runPhases(course, all, wantedPhases(options.parts), shapes)
    for (const variant of variants.filter((name) => options.parts.has(name))) {
      await startAnew(environment, pair)
      const shapeFor = ({ name }: Contender) =>
        variant === 'invalid' && name === 'expert' ? shapes.valid : shapes[variant]
      await runPart(course, variant, pair, shapeFor)
    }
  }
  return results
}

/** What every part of a round needs. */
interface Course {
  environment: BenchEnvironment
  results: Results
  round: number
  say(line: string): void
}

/** Each phase begins on what the one before has left, so all up to the last wanted one are run. */
function wantedPhases(parts: ReadonlySet<Part>): readonly Phase[] {
  return phases.slice(0, phases.findLastIndex((phase) => parts.has(phase)) + 1)
}

async function runPhases(
  course: Course,
  contenders: readonly Contender[],
  wanted: readonly Phase[],
  shapes: Record<'first' | 'changed', Shape>,
): Promise<void> {
  if (wanted.length > 0) await startAnew(course.environment, contenders)
  for (const phase of wanted) {
    await runPart(course, phase, contenders, () => shapes[phase === 'changed' ? 'changed' : 'first'])
  }
}

async function startAnew({ postgres }: BenchEnvironment, contenders: readonly Contender[]): Promise<void> {
  for (const { template, database } of contenders) await postgres.copyDatabase(template, database)
}

/** Has the contenders import a file each, and compares what they left. Who begins changes with the round. */
async function runPart(
  { environment, results, round, say }: Course,
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
    say(`${part.padEnd(10)}${contender.name.padEnd(8)}${measured.seconds.toFixed(2).padStart(8)} s`)
  }
  await compare(environment, part, contenders, files)
  for (const contender of contenders) {
    if (contender.profiles === undefined) continue
    results.setSize(part, contender.name, await sizeOnDisk(environment.postgres, contender))
  }
}

/** Throws where contenders left different profiles. */
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
  const words = ({ profiles, hash }: EndState) => `${profiles} profiles, hash ${hash}`
  if (new Set(left.map(({ state }) => words(state))).size === 1) return
  const lines = left.map(({ name, state }) => `${name}: ${words(state)}`)
  throw new Error(`${part}: the end states differ\n${lines.join('\n')}`)
}
