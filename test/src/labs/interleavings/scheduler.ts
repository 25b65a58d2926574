import { once } from 'node:events'
import { type Database, sql } from '@sluice/database'
import type { Actor } from './actor.ts'
import type { GatedConnection } from './gate.ts'

/** One decision of an order: which actor proceeds with its next statement. */
export interface Decision {
  /** The actors that could proceed: 0, 1 or both. */
  enabled: readonly number[]
  /** The actor that proceeded. */
  chosen: number
  /** The beginning of the statement that was released. */
  text: string
}

/** Time without an answer after which a statement may be waiting for a lock, ms. */
const answerMs = 3
/** Time in which an order must go on, ms. Longer than Postgres's detection of deadlocks. */
const stuckMs = 20_000

/**
 * Runs operations that have been started to their end, one statement at a time. `prefix` has the actors of the first
 * decisions. Afterwards an actor proceeds until it ends or waits for a lock.
 *
 * Returns all decisions. Throws if nothing proceeds for 20 s.
 */
export async function runOrder(
  db: Database,
  actors: readonly Actor[],
  prefix: readonly number[],
): Promise<{ decisions: Decision[]; hasDiverged: boolean }> {
  const decisions: Decision[] = []
  let hasDiverged = false
  for (;;) {
    const enabled = await settled(db, actors)
    if (enabled.length === 0) return { decisions, hasDiverged }
    const wanted = prefix[decisions.length]
    if (wanted !== undefined && !enabled.includes(wanted)) hasDiverged = true
    const last = decisions.at(-1)?.chosen
    const chosen = [wanted, last, 0, 1].find((actor) => actor !== undefined && enabled.includes(actor)) ?? 0
    const connection = waitingOf(actors[chosen])
    decisions.push({ enabled, chosen, text: connection?.nextText.trim().replace(/\s+/g, ' ').slice(0, 60) ?? '' })
    connection?.release()
  }
}

/**
 * Waits until each actor has a statement at its gate, waits for a lock, or has ended. Returns the actors with a
 * statement at their gates; none if all have ended.
 */
async function settled(db: Database, actors: readonly Actor[]): Promise<number[]> {
  const until = performance.now() + stuckMs
  for (;;) {
    const states = await Promise.all(actors.map((actor) => stateOf(db, actor)))
    const enabled = [...states.keys()].filter((index) => states[index] === 'waiting')
    const isSettled = states.every((state) => state !== 'working')
    if (isSettled && (enabled.length > 0 || states.every((state) => state === 'ended'))) return enabled
    if (performance.now() > until) throw new Error(`an order is stuck: ${states.join(', ')}`)
    await changed(actors)
  }
}

/** Waits for a change at a gate, or for a moment. */
async function changed(actors: readonly Actor[]): Promise<void> {
  const over = new AbortController()
  const moment = setTimeout(() => over.abort(), answerMs)
  const changes = actors.map(({ gate }) => once(gate, 'change', { signal: over.signal }).catch(() => {}))
  await Promise.race(changes)
  clearTimeout(moment)
  over.abort() // removes the other listeners
}

/**
 * `waiting`: a statement is at the gate. `blocked`: statements wait for locks, and nothing else happens. `working`: the
 * actor or Postgres is about to go on.
 */
type State = 'waiting' | 'blocked' | 'working' | 'ended'

async function stateOf(db: Database, actor: Actor): Promise<State> {
  const executing = [...actor.gate.connections].filter(({ isExecuting }) => isExecuting)
  if (executing.length > 0) {
    const isSlow = executing.every(({ releasedAt }) => performance.now() - releasedAt >= answerMs)
    if (!isSlow || !(await areBlocked(db, executing))) return 'working'
    return waitingOf(actor) === undefined ? 'blocked' : 'waiting'
  }
  if (waitingOf(actor) !== undefined) return 'waiting'
  return actor.result === undefined ? 'working' : 'ended'
}

function waitingOf(actor: Actor | undefined): GatedConnection | undefined {
  return [...(actor?.gate.connections ?? [])].find(({ isWaiting }) => isWaiting)
}

async function areBlocked(db: Database, connections: readonly GatedConnection[]): Promise<boolean> {
  const pids = connections.map(({ pid }) => pid)
  const { rows } = await sql<{ blocked: boolean }>`
    select bool_and(cardinality(pg_blocking_pids(pid)) > 0) as blocked from unnest(${pids}::integer[]) pid
  `.execute(db)
  // An answer may have come meanwhile.
  return rows[0]?.blocked === true && connections.every(({ isExecuting }) => isExecuting)
}
