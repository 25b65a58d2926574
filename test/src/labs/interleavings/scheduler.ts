import { once } from 'node:events'
import { type Database, sql } from '@sluice/database'
import type { Actor } from './actor.ts'
import type { Decision, Step } from './explore.ts'
import type { GatedConnection } from './gate.ts'

/** What decides an order. */
export interface OrderPlan {
  /** The first steps. Afterwards an actor proceeds until it ends or waits for a lock. */
  first: readonly Step[]
  /** Which of the actors proceeds then; by default the first one that can. */
  preferred?: readonly number[]
  /** Called when an actor has died and Postgres has ended its transactions, except statements that wait for locks. */
  afterCrash?: () => Promise<void>
}

/** Time without an answer after which a statement may be waiting for a lock, ms. */
const answerMs = 3
/** Longest pause between two lookups of what sessions wait for, ms. Many lookups would slow down a busy machine. */
const longestPauseMs = 50
/** Time in which an order must go on, ms. Longer than Postgres's detection of deadlocks. */
const stuckMs = 20_000

/**
 * Runs actions that have been started to their end, one statement at a time. Returns all decisions. Throws if
 * nothing proceeds for 20 s.
 */
export async function runOrder(
  db: Database,
  actors: readonly Actor[],
  { first, preferred = [...actors.keys()], afterCrash }: OrderPlan,
): Promise<{ decisions: Decision[]; hasDiverged: boolean }> {
  const decisions: Decision[] = []
  let hasDiverged = false
  for (;;) {
    const enabled = await settled(db, actors)
    if (enabled.length === 0) return { decisions, hasDiverged }
    const wanted = first[decisions.length]
    const candidates = [wanted?.actor, decisions.at(-1)?.step.actor, ...preferred]
    const actor = candidates.find((each) => each !== undefined && enabled.includes(each)) ?? 0
    if (wanted !== undefined && wanted.actor !== actor) hasDiverged = true
    const step = wanted?.actor === actor ? wanted : { actor }
    const connection = waitingOf(actors[actor])
    const text = connection?.nextText.trim().replace(/\s+/g, ' ').slice(0, 60) ?? ''
    const committing = enabled.filter((each) => waitingOf(actors[each])?.commitsNext)
    decisions.push({ enabled, committing, step, text })
    if (step.crash !== 'before') connection?.release()
    if (step.crash === undefined) continue
    await actors[actor]?.kill()
    await settled(db, actors)
    await afterCrash?.()
  }
}

/**
 * Waits until each actor has a statement at its gate, waits for a lock, or has ended. Returns the actors with a
 * statement at their gates; none if all have ended.
 */
async function settled(db: Database, actors: readonly Actor[]): Promise<number[]> {
  const until = performance.now() + stuckMs
  for (let pauseMs = answerMs; ; pauseMs = Math.min(pauseMs * 1.5, longestPauseMs)) {
    const states = await Promise.all(actors.map((actor) => stateOf(db, actor)))
    const enabled = [...states.keys()].filter((index) => states[index] === 'waiting')
    const isSettled = states.every((state) => state !== 'working')
    if (isSettled && (enabled.length > 0 || states.every((state) => state === 'ended'))) return enabled
    if (performance.now() > until) throw new Error(`an order is stuck: ${states.join(', ')}`)
    await changed(actors, pauseMs)
  }
}

/** Waits for a change at a gate, at most for some time. */
async function changed(actors: readonly Actor[], ms: number): Promise<void> {
  const over = new AbortController()
  const moment = setTimeout(() => over.abort(), ms)
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
  // A statement of a dead actor that waits for a lock is executed later.
  if (actor.sessionsAtDeath !== undefined) return (await areBlocked(db, actor.sessionsAtDeath)) ? 'ended' : 'working'
  const executing = [...actor.gate.connections].filter(({ isExecuting }) => isExecuting)
  if (executing.length > 0) {
    const isSlow = executing.every(({ releasedAt }) => performance.now() - releasedAt >= answerMs)
    const pids = executing.map(({ pid }) => pid)
    const mayProceed = !isSlow || !(await areBlocked(db, pids))
    // An answer may have come meanwhile.
    if (mayProceed || !executing.every(({ isExecuting }) => isExecuting)) return 'working'
    return waitingOf(actor) === undefined ? 'blocked' : 'waiting'
  }
  if (waitingOf(actor) !== undefined) return 'waiting'
  return actor.result === undefined ? 'working' : 'ended'
}

function waitingOf(actor: Actor | undefined): GatedConnection | undefined {
  return [...(actor?.gate.connections ?? [])].find(({ isWaiting }) => isWaiting)
}

/** Returns whether each of these sessions waits for a lock, or is over. */
async function areBlocked(db: Database, pids: readonly number[]): Promise<boolean> {
  const { rows } = await sql<{ blocked: boolean }>`
    select coalesce(bool_and(cardinality(pg_blocking_pids(pid)) > 0), true) as blocked
    from pg_stat_activity where pid = any(${pids}::integer[])
  `.execute(db)
  return rows[0]?.blocked === true
}
