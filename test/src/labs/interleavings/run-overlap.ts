import { isDeepStrictEqual } from 'node:util'
import { type History, replay } from '../model/replay.ts'
import { type Exploration, type ExploreOptions, explore } from './explore.ts'
import { type ActorsFixture, endLeases, takeHistory } from './fixture.ts'
import type { Overlap } from './overlap.ts'
import { type OrderPlan, runOrder } from './scheduler.ts'

/** Runs the orders of an overlap. Returns what they violated. */
export async function runOverlap(
  fixture: ActorsFixture,
  overlap: Overlap,
  options: ExploreOptions = {},
): Promise<Exploration> {
  const serial = new SerialOutcomes(fixture, overlap)
  // Replaying each history alone would take longer than its order.
  const histories: History[] = []
  const found = await explore(
    async (first) => {
      const { decisions, hasDiverged, actors, remains, problems, history } = await playOrder(fixture, overlap, {
        first,
      })
      histories.push(history)
      const dead = decisions.find(({ step }) => step.crash !== undefined)?.step.actor
      if (overlap.isSerial && !(await serial.include(remains, actors, dead)))
        problems.push(`no order without an overlap leaves ${JSON.stringify(remains)}`)
      return { decisions, hasDiverged, problems }
    },
    { preemptions: overlap.preemptions, ...options },
  )
  const problems = await replay(histories.flat())
  if (problems.length > 0) found.violations.push({ order: 'in the order of this app', problems })
  return found
}

/** What the orders without an overlap leave. They run when their outcomes are needed. */
class SerialOutcomes {
  readonly #fixture: ActorsFixture
  readonly #overlap: Overlap
  /** By the actor that does nothing. */
  readonly #outcomes = new Map<number | undefined, unknown[]>()

  constructor(fixture: ActorsFixture, overlap: Overlap) {
    this.#fixture = fixture
    this.#overlap = overlap
  }

  /** Returns whether one of the orders of so many actors leaves this. `dead`: the actor that died. */
  async include(remains: unknown, actors: number, dead: number | undefined): Promise<boolean> {
    for (const without of dead === undefined ? [undefined] : [undefined, dead]) {
      const outcomes = this.#outcomes.get(without) ?? (await this.#run(actors, without))
      this.#outcomes.set(without, outcomes)
      if (outcomes.some((each) => isDeepStrictEqual(each, remains))) return true
    }
    return false
  }

  async #run(actors: number, without: number | undefined): Promise<unknown[]> {
    const outcomes: unknown[] = []
    const first = without === undefined ? [] : [{ actor: without, crash: 'before' as const }]
    const others = Array.from({ length: actors }, (_, actor) => actor).filter((actor) => actor !== without)
    for (const preferred of permutations(others)) {
      const [goesFirst = 0] = preferred
      const plan = { first: [...first, { actor: goesFirst }], preferred }
      const { remains, problems } = await playOrder(this.#fixture, this.#overlap, plan)
      if (problems.length > 0) throw new Error(`${this.#overlap.name}, without an overlap: ${problems.join(', ')}`)
      outcomes.push(remains)
    }
    return outcomes
  }
}

function permutations(items: readonly number[]): number[][] {
  if (items.length === 0) return [[]]
  return items.flatMap((item) => permutations(items.filter((each) => each !== item)).map((rest) => [item, ...rest]))
}

async function playOrder(fixture: ActorsFixture, overlap: Overlap, plan: OrderPlan) {
  const scene = await overlap.open(fixture)
  const actors = fixture.actors.slice(0, scene.starts.length)
  for (const [index, { name, argument }] of scene.starts.entries()) {
    const actor = actors[index]
    if (actor === undefined) throw new Error(`${overlap.name} has more actions than there are actors`)
    actor.gate.isOpen = false
    actor.start(name, argument as never)
  }
  const afterCrash = () => endLeases(fixture)
  const { decisions, hasDiverged } = await runOrder(fixture.database.db, actors, { ...plan, afterCrash })
  for (const { gate } of actors) gate.isOpen = true
  const remains = await scene.finish()
  const [problems, history] = [scene.check?.(remains) ?? [], await takeHistory(fixture)]
  await fixture.revive()
  return { decisions, hasDiverged, actors: actors.length, remains, problems, history }
}
