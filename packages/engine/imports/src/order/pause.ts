import { type Database, type RawBuilder, sql } from '@sluice/database'

// Pausing keeps workers from claiming imports, of one app or of all apps. Requests and uploads are accepted as usual.
// The state is in Postgres alone (`isPaused`), so it holds in every process and survives restarts.

/**
 * Builds the condition that the imports of an app are paused, or those of all apps. Accepts the app's ID as an
 * expression.
 */
export function isPaused(appId: RawBuilder<unknown>): RawBuilder<boolean> {
  return sql`exists (select from paused_apps p where p.app_id = ${appId})`
}

/** Since when imports are paused; null if they are not. */
export interface Pauses {
  ofApp: Date | null
  ofAllApps: Date | null
}

/** Looks up whether an app, if one is given, or all apps are paused (second-day.md §6, Pauses). */
export async function findPauses(db: Database, appId?: number): Promise<Pauses> {
  const { rows } = await sql<{ of_app: Date | null; of_all_apps: Date | null }>`
    select (select paused_at from apps where app_id = ${appId ?? null}) as of_app,
      (select paused_at from service_pause) as of_all_apps
  `.execute(db)
  return { ofApp: rows[0]?.of_app ?? null, ofAllApps: rows[0]?.of_all_apps ?? null }
}

/**
 * Pauses the imports of an app, or of all apps if `appId` is undefined. No import is claimed any more. A running import
 * is released after the batches in flight, and its try does not count.
 *
 * Returns false if they were paused already, or if there is no such app.
 */
export async function pauseImports(db: Database, appId: number | undefined): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const paused =
      appId === undefined
        ? await sql`insert into service_pause default values on conflict do nothing`.execute(tx)
        : await sql`update apps set paused_at = now() where app_id = ${appId} and paused_at is null`.execute(tx)
    if (Number(paused.numAffectedRows ?? 0) === 0) return false
    // Withdraws all dispatches: paused imports that wait for a worker would make running imports of other apps release
    // their slots.
    await tx
      .updateTable('imports')
      .set({ dispatched_at: null })
      .where('dispatched_at', 'is not', null)
      .$if(appId !== undefined, (query) => query.where('app_id', '=', appId ?? 0))
      .execute()
    return true
  })
}

/**
 * Resumes the imports of an app, or of all apps if `appId` is undefined. An app that was paused itself stays paused
 * when all apps resume. Workers continue within a second.
 *
 * Returns false if they were not paused.
 */
export async function resumeImports(db: Database, appId: number | undefined): Promise<boolean> {
  const resumed =
    appId === undefined
      ? await sql`
          with resumed as (
            update apps set resumed_at = now()
            where app_id in (select app_id from import_orders) and exists (select from service_pause)
          )
          delete from service_pause
        `.execute(db)
      : await sql`update apps set paused_at = null, resumed_at = now() where app_id = ${appId} and paused_at is not null`.execute(
          db,
        )
  return Number(resumed.numAffectedRows ?? 0) > 0
}
