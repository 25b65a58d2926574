import { isDeepStrictEqual } from 'node:util'
import { type Exploration, type ExploreOptions, explore } from './explore.ts'
import { type PairFixture, recordedViolations } from './fixture.ts'
import type { Pair } from './pairs.ts'
import { runOrder } from './scheduler.ts'

export async function runPair(fixture: PairFixture, pair: Pair, options: ExploreOptions = {}): Promise<Exploration> {
  const { preemptions = pair.preemptions, limit } = options
  const serial = [await remainsOfOrder(fixture, pair, 'first'), await remainsOfOrder(fixture, pair, 'second')]
  return await explore(
    async (prefix) => {
      const { decisions, hasDiverged, remains, problems } = await playOrder(fixture, pair, prefix)
      const isLikeSerial = serial.some((each) => isDeepStrictEqual(each, remains))
      if (pair.isSerial && !isLikeSerial) problems.push(`neither order leaves ${JSON.stringify(remains)}`)
      return { decisions, hasDiverged, problems }
    },
    { preemptions, limit },
  )
}

/** Runs a pair without an overlap. Returns what remains. */
async function remainsOfOrder(fixture: PairFixture, pair: Pair, goesFirst: 'first' | 'second'): Promise<unknown> {
  const prefix = goesFirst === 'first' ? [] : [1]
  const { remains, problems } = await playOrder(fixture, pair, prefix)
  if (problems.length > 0) throw new Error(`${pair.name}, without an overlap: ${problems.join(', ')}`)
  return remains
}

async function playOrder(fixture: PairFixture, pair: Pair, prefix: readonly number[]) {
  const scene = await pair.open(fixture)
  for (const [index, actor] of fixture.actors.entries()) {
    actor.gate.isOpen = false
    const { name, argument } = scene.starts[index === 0 ? 0 : 1]
    actor.start(name, argument as never)
  }
  const { decisions, hasDiverged } = await runOrder(fixture.database.db, fixture.actors, prefix)
  for (const { gate } of fixture.actors) gate.isOpen = true
  const remains = await scene.finish()
  const problems = [...(scene.check?.(remains) ?? []), ...(await recordedViolations(fixture))]
  return { decisions, hasDiverged, remains, problems }
}
