import { requireApp } from '@sluice/accounts'
import { sql } from '@sluice/database'
import { appTables, deleteRows } from '@sluice/deletions'
import { resumeImports } from '@sluice/imports'
import { lowerFence, raiseFence } from './fence.ts'
import { alone, type CellDatabase, type LockedMove, type Move, MoveRefused } from './move.ts'
import { endSlowCopy } from './pace.ts'
import { type Copied, endReplication, startReplication, untilCopied } from './replication.ts'
import { unmetRequirements } from './requirements.ts'
import { changeCell } from './suspend.ts'

/** What a move has reached. */
export type MoveStep = ({ step: 'copying' } & Copied) | { step: 'following' } | { step: 'moved'; suspendedMs: number }

/**
 * Moves an app to another cell while it works: copies its rows, follows what changes, suspends it for some seconds,
 * compares both, and makes the target its cell. The source keeps the rows, read-only, until {@link confirmMove}.
 *
 * If a command has died, the next one goes on. Throws {@link MoveRefused} with everything that is missing, or
 * `UnknownApp`.
 */
export async function moveApp(move: Move, onStep: (step: MoveStep) => void): Promise<void> {
  await alone(move, (locked) => goOn(locked, onStep))
}

async function goOn(move: LockedMove, onStep: (step: MoveStep) => void): Promise<void> {
  const { appId, source, target } = move
  const found = await findMove(source, appId)
  const isBegun = found !== undefined && found.state !== 'here'
  if (isBegun && found.cell !== target.cell)
    throw new MoveRefused(
      `app ${appId} ${found.state === 'left' ? 'is in' : 'moves to'} cell ${found.cell}: see there, or --abort`,
    )
  if (found?.state === 'left') return await arrive(move)
  const unmet = await unmetRequirements(move, !isBegun)
  if (unmet.length > 0) throw new MoveRefused(unmet.join('\n'))
  if (!isBegun) await begin(move)
  await awaitApp(move)
  await startReplication(move)
  await untilCopied(move, (copied) => onStep({ step: 'copying', ...copied }))
  onStep({ step: 'following' })
  const { suspendedMs } = await changeCell(move)
  await arrive(move)
  onStep({ step: 'moved', suspendedMs })
}

async function findMove({ db }: CellDatabase, appId: number) {
  return await db.selectFrom('app_moves').selectAll().where('app_id', '=', appId).executeTakeFirst()
}

async function begin({ appId, source, target }: Move): Promise<void> {
  await requireApp(source.db, appId)
  const wasPaused = sql<boolean>`(select paused_at is not null from apps where app_id = ${appId})`
  const begun = { cell: target.cell, state: 'copying', was_paused: wasPaused, confirmed_at: null } as const
  await source.db
    .insertInto('app_moves')
    .values({ app_id: appId, ...begun })
    .onConflict((conflict) => conflict.column('app_id').doUpdateSet(begun).where('app_moves.state', '=', 'here'))
    .execute()
}

/** Makes the target pass over the rows that it will receive, until the app has arrived. */
async function awaitApp(move: Move): Promise<void> {
  const { appId, source, target } = move
  const arriving = { cell: source.cell, state: 'arriving' } as const
  await target.db
    .insertInto('app_moves')
    .values({ app_id: appId, ...arriving })
    .onConflict((conflict) => conflict.column('app_id').doUpdateSet(arriving).where('app_moves.state', '!=', 'here'))
    .execute()
  await raiseFence(target.db, move)
}

/** Lets the target serve the app, and its workers continue the app's imports. */
async function arrive(move: Move): Promise<void> {
  const { appId, source, target } = move
  const wasPaused = (await findMove(source, appId))?.was_paused ?? false
  await endReplication(move)
  const arrived = await target.db
    .updateTable('app_moves')
    .set({ state: 'here' })
    .where('app_id', '=', appId)
    .where('state', '=', 'arriving')
    .executeTakeFirst()
  // Not twice: the app may have been paused since.
  if (arrived.numUpdatedRows > 0n && !wasPaused) await resumeImports(target.db, appId)
  await lowerFence(target.db, move)
}

/** Removes the rows of an app that has moved from the source. There is no way back but another move. */
export async function confirmMove(move: Move): Promise<void> {
  await alone(move, removeSource)
}

async function removeSource(move: Move): Promise<void> {
  const { appId, source } = move
  if ((await findMove(source, appId))?.state !== 'left')
    throw new MoveRefused(`app ${appId} has not moved from cell ${source.cell}`)
  // If the command of the move died after the move, its replication would remove the rows in the target as well.
  await arrive(move)
  await removeRows(source, appId)
  await lowerFence(source.db, move)
  await source.db.updateTable('app_moves').set({ confirmed_at: sql<Date>`now()` }).where('app_id', '=', appId).execute()
}

/** Ends a move before its app has moved: the source serves the app as before, and the target's copy is removed. */
export async function abortMove(move: Move): Promise<void> {
  await alone(move, removeCopy)
}

async function removeCopy(move: Move): Promise<void> {
  const { appId, source, target } = move
  const found = await findMove(source, appId)
  if (found?.state === 'left')
    throw new MoveRefused(
      `app ${appId} is in cell ${found.cell}, which has what came since. To bring it back: --confirm, and move it from there`,
    )
  if (found === undefined || found.state === 'here') throw new MoveRefused(`app ${appId} is not moving`)
  await endReplication(move)
  await endSlowCopy(move)
  const kept = source.db.updateTable('app_moves').where('app_id', '=', appId)
  await kept.set({ state: 'copying', suspended_until: null }).execute()
  await lowerFence(source.db, move)
  if (!found.was_paused) await resumeImports(source.db, appId)
  await removeRows(target, appId)
  await lowerFence(target.db, move)
  await target.db.deleteFrom('app_moves').where('app_id', '=', appId).where('state', '=', 'arriving').execute()
  // Last: until then, another --abort goes on.
  await kept.set({ state: 'here' }).execute()
}

async function removeRows({ db }: CellDatabase, appId: number): Promise<void> {
  const tables = appTables.filter(({ name }) => name !== 'app_moves')
  for (const table of [...tables, { name: 'audit_log' }, { name: 'apps' }])
    await deleteRows(db, table, appId, undefined)
}
