import { beforeAll, expect, test } from 'vitest'
import { kinds } from './points.ts'
import { firstImport } from './scenarios/imports.ts'
import { type SweepServers, startSweepServers } from './servers.ts'
import { findPoints, inLanes, kindsAt, type NumberedPoint, runUntilCut } from './sweep.ts'

// A sample of `npm run test:sweep`: whichever message of an import a process dies at, nothing is lost or doubled.
const lanes = 4

/** Points of each kind in `npm test`. */
const sample = 1

let servers: SweepServers
let points: NumberedPoint[]

beforeAll(async () => {
  servers = await startSweepServers('postgres')
  // Two undisturbed runs instead of three: a point that few runs have is tried several times.
  points = await findPoints(servers, firstImport, lanes, 2)
  return () => servers.close()
}, 180_000)

test('an import has dozens of messages at which it can be cut', () => {
  expect(points.length).toBeGreaterThan(30)
  expect(new Set(points.map(({ key }) => key)).size).toBe(points.length)
})

test('an import that is cut at any of them ends like an undisturbed one', async () => {
  const jobs = kinds.flatMap((kind, index) => {
    const possible = points.filter((point) => kindsAt(point).includes(kind))
    // Each kind has other points, spread over the whole import.
    return Array.from({ length: sample }, (_, place) => {
      const share = (place + index / kinds.length) / sample
      return { kind, key: possible[Math.floor(share * possible.length)]?.key ?? '' }
    })
  })
  const outcomes: string[] = []
  await inLanes(jobs, lanes, async (cut) => {
    const { cuts, violations, log } = await runUntilCut(servers, firstImport, [cut])
    if (cuts !== 1) outcomes.push(`${cut.kind} at ${cut.key}: not reached`)
    if (violations.length > 0) outcomes.push(`${cut.kind} at ${cut.key}: ${violations.join('; ')}\n${log}`)
  })
  expect(outcomes).toEqual([])
}, 180_000)
