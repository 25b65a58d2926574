import { beforeAll, expect, test } from 'vitest'
import { type Kind, kinds } from './points.ts'
import { firstImport } from './scenarios/imports.ts'
import { type SweepServers, startSweepServers } from './servers.ts'
import { findPoints, inLanes, kindsAt, type NumberedPoint, runUntilCut } from './sweep.ts'

// A sample of `npm run test:sweep`: whichever message of an import a process dies at, nothing is lost or doubled.
const lanes = 4

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
  const failures: string[] = []
  await inLanes(kinds, lanes, async (kind) => {
    const failure = await failureOf(kind)
    if (failure !== undefined) failures.push(failure)
  })
  // The message's first line names the point.
  expect(failures, failures.join('\n')).toEqual([])
}, 180_000)

/** Makes one cut of a kind. Returns what went wrong, or undefined if the import ended like an undisturbed one. */
async function failureOf(kind: Kind): Promise<string | undefined> {
  const possible = points.filter((point) => kindsAt(point).includes(kind))
  // Each kind begins at another point. Points that few runs have are passed over until the cut happens.
  const first = Math.floor((kinds.indexOf(kind) / kinds.length) * possible.length)
  for (const { key } of possible.slice(first)) {
    const { cuts, violations, log } = await runUntilCut(servers, firstImport, [{ kind, key }])
    if (violations.length > 0) return `${kind} at ${key}: ${violations.join('; ')}\n${log}`
    if (cuts === 1) return undefined
  }
  return `${kind}: no cut happened`
}
