import { setTimeout as delay } from 'node:timers/promises'
import { sql } from '@sluice/database'
import { pauseImports, resumeImports } from '@sluice/imports'
import { compareTables } from './comparison.ts'
import { lowerFence, raiseFence } from './fence.ts'
import { guardedTables, type LockedMove, type Move, MoveRefused } from './move.ts'
import { noticeMs } from './moved-apps.ts'
import { untilCaughtUp } from './replication.ts'

/** How long an app is suspended at most, ms. */
const suspensionMs = 5_000

/** Number of suspensions before a move ends in vain: a long batch or a busy database may use up one of them. */
const suspensions = 3

/** How long the imports of the app may take to be released, ms. Later, the fence ends their batches. */
const releaseMs = 10_000

/** A table with at most this many rows of the app is compared again in the last suspension, in some milliseconds. */
const fewRows = 50_000

/**
 * Makes the target the app's cell. Suspends the app twice: to compare all rows as they are at one moment, while the app
 * goes on, and to receive the rest, compare the small tables and move. The length of a suspension does not depend on
 * the app's size.
 *
 * If the time does not suffice, releases the app and tries again. Throws {@link MoveRefused} if the rows differ, or
 * after the last try. The app is then as before, and the target goes on following it.
 */
export async function changeCell(move: LockedMove): Promise<{ suspendedMs: number }> {
  let comparing: Promise<Map<string, number>> | undefined
  await whileSuspended(move, async (limit) => {
    const { promise: seen, resolve, reject } = Promise.withResolvers<void>()
    comparing = compareTables(move, guardedTables, resolve)
    comparing.catch(reject)
    await seen
    limit.throwIfAborted()
  })
  await release(move)
  const rows = await comparing
  const small = guardedTables.filter((table) => (rows?.get(table) ?? 0) <= fewRows)
  return await whileSuspended(move, async (limit) => {
    await compareTables(move, small)
    await raiseSequences(move)
    await sendAway(move, limit)
  })
}

/** Works while the app is suspended and the target has all its rows. The app stays suspended, unless the work fails. */
async function whileSuspended(
  move: LockedMove,
  work: (limit: AbortSignal) => Promise<void>,
): Promise<{ suspendedMs: number }> {
  for (let tries = 1; ; tries++) {
    let limit: AbortSignal | undefined
    try {
      // An import writes faster than the target follows, so imports stop before requests wait.
      await pauseImports(move.source.db, move.appId)
      await untilReleased(move)
      await untilCaughtUp(move)
      const began = performance.now()
      limit = AbortSignal.timeout(suspensionMs)
      await suspend(move)
      await untilComplete(move, limit)
      await work(limit)
      return { suspendedMs: performance.now() - began }
    } catch (error) {
      await release(move)
      if (!limit?.aborted) throw error
      if (tries === suspensions) throw tooSlow(move)
    }
  }
}

/** Lets requests wait. */
async function suspend({ appId, source }: Move): Promise<void> {
  await source.db
    .updateTable('app_moves')
    .set({
      state: 'suspended',
      suspended_until: sql<Date>`clock_timestamp() + make_interval(secs => ${(2 * suspensionMs) / 1000})`,
    })
    .where('app_id', '=', appId)
    .where('state', 'in', ['copying', 'suspended'])
    .execute()
}

/** Waits until the target has every row of the suspended app. */
async function untilComplete(move: Move, limit: AbortSignal): Promise<void> {
  await delay(noticeMs, undefined, { signal: limit })
  await raiseFence(move.source.db, move)
  await untilCaughtUp(move, limit)
}

async function untilReleased({ appId, source }: Move): Promise<void> {
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
    await delay(50)
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

/** Makes the target the app's cell, if the suspension lasts still. This is the moment of the move. */
async function sendAway({ appId, source }: Move, limit: AbortSignal): Promise<void> {
  limit.throwIfAborted()
  const { numUpdatedRows } = await source.db
    .updateTable('app_moves')
    .set({ state: 'left' })
    .where('app_id', '=', appId)
    .where(sql<boolean>`state = 'suspended' and suspended_until > clock_timestamp()`)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) throw new MoveRefused('the suspension has ended before the move')
}

/** Lets the source serve the app again. */
async function release(move: Move): Promise<void> {
  const { appId, source } = move
  const released = await source.db
    .updateTable('app_moves')
    .set({ state: 'copying', suspended_until: null })
    .where('app_id', '=', appId)
    .where('state', 'in', ['copying', 'suspended'])
    .returning('was_paused')
    .executeTakeFirst()
  if (released === undefined) return
  await lowerFence(source.db, move)
  if (!released.was_paused) await resumeImports(source.db, appId)
}

function tooSlow({ appId, source, target }: Move): MoveRefused {
  return new MoveRefused(
    `cell ${target.cell} did not catch up within ${suspensionMs / 1000} s in ${suspensions} tries; app ${appId} stays in cell ${source.cell}. Run the command again when less is written`,
  )
}
