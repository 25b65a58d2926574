import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '@sluice/database'
import { pauseImports, resumeImports } from '@sluice/imports'
import { differingTables } from './comparison.ts'
import { lowerFence, raiseFence } from './fence.ts'
import { type Move, MoveRefused } from './move.ts'
import { noticeMs } from './moved-apps.ts'
import { untilCaughtUp } from './replication.ts'

/** How long an app is held at most, ms. */
const holdMs = 5_000

/** Number of holds before a move gives up: a long batch or a busy database may use up one of them. */
const holds = 3

/** How long the imports of a held app may take to be released, ms. Later, the fence ends their batches. */
const releaseMs = 1_000

/**
 * Holds the app while the target receives the rest, compares both, and makes the target the app's cell. If the time
 * does not suffice, releases the app and tries again. Throws {@link MoveRefused} if the rows differ, or after the last
 * try. The app is then as before, and the target goes on following it.
 */
export async function changeCell(move: Move): Promise<{ heldMs: number }> {
  for (let tries = 1; ; tries++) {
    const began = performance.now()
    const limit = AbortSignal.timeout(holdMs)
    try {
      await hold(move)
      await settle(move, limit)
      await raiseSequences(move)
      await sendAway(move, limit)
      return { heldMs: performance.now() - began }
    } catch (error) {
      await release(move)
      if (!limit.aborted || tries === holds) throw limit.aborted ? tooSlow(move) : error
    }
  }
}

/** Lets requests wait, and workers release the app's imports. */
async function hold({ appId, source }: Move): Promise<void> {
  await source.db
    .updateTable('app_moves')
    .set({ state: 'held', held_until: sql<Date>`clock_timestamp() + make_interval(secs => ${(2 * holdMs) / 1000})` })
    .where('app_id', '=', appId)
    .where('state', 'in', ['copying', 'held'])
    .execute()
  await pauseImports(source.db, appId)
}

/** Waits until the target has every row of the held app. */
async function settle(move: Move, limit: AbortSignal): Promise<void> {
  await delay(noticeMs, undefined, { signal: limit })
  await untilReleased(move, limit)
  await raiseFence(move.source.db, move)
  await untilCaughtUp(move, limit)
  const differing = await differingTables(move)
  limit.throwIfAborted()
  if (differing.length > 0)
    throw new MoveRefused(
      `the rows of app ${move.appId} differ in ${differing.join(', ')}; the app stays in cell ${move.source.cell}. --abort, and begin again`,
    )
}

async function untilReleased({ appId, source }: Move, signal: AbortSignal): Promise<void> {
  const until = performance.now() + releaseMs
  while (performance.now() < until) {
    const running = await source.db
      .selectFrom('imports')
      .select('import_id')
      .where('app_id', '=', appId)
      .where('state', '=', 'processing')
      .where('lease_until', 'is not', null)
      .executeTakeFirst()
    if (running === undefined) return
    await delay(50, undefined, { signal })
  }
}

/** Makes what is requested in the target from now on follow what came along. */
async function raiseSequences({ source, target }: Move): Promise<void> {
  const { rows } = await sql<{ name: string; last: string }>`
    select sequencename as name, coalesce(last_value, 1)::text as last from pg_sequences
    where schemaname = current_schema() and sequencename <> 'apps_app_id_seq'
  `.execute(source.db)
  for (const { name, last } of rows) {
    const own = sql`(select last_value from ${sql.table(name)})`
    await sql`select setval(${name}::text::regclass, greatest(${last}::bigint, ${own}))`.execute(target.db)
  }
}

/** Makes the target the app's cell, if the hold lasts still. This is the moment of the move. */
async function sendAway({ appId, source }: Move, limit: AbortSignal): Promise<void> {
  limit.throwIfAborted()
  const { numUpdatedRows } = await source.db
    .updateTable('app_moves')
    .set({ state: 'left' })
    .where('app_id', '=', appId)
    .where(sql<boolean>`state = 'held' and held_until > clock_timestamp()`)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new MoveRefused('the hold has ended before the move')
}

/** Lets the source serve the app again. */
async function release(move: Move): Promise<void> {
  const { appId, source } = move
  const released = await source.db
    .updateTable('app_moves')
    .set({ state: 'copying', held_until: null })
    .where('app_id', '=', appId)
    .where('state', '=', 'held')
    .returning('was_paused')
    .executeTakeFirst()
  if (released === undefined) return
  await lowerFence(source.db, move)
  if (!released.was_paused) await resumeImports(source.db, appId)
}

function tooSlow({ appId, source, target }: Move): MoveRefused {
  return new MoveRefused(
    `cell ${target.cell} did not catch up within ${holdMs / 1000} s in ${holds} tries; app ${appId} stays in cell ${source.cell}. Run the command again when less is written`,
  )
}
