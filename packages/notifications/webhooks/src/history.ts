import { type Database, removeInBatches, rowsAtATime, sql } from '@sluice/database'

/**
 * Removes the deliveries that ended `days` ago, a few at a time (second-day.md §6, History). Returns their number. Ends
 * early if the process shuts down.
 */
export async function removeOldDeliveries(
  db: Database,
  days: number,
  shutdown: AbortSignal | undefined,
): Promise<number> {
  const statement = sql`
    delete from webhook_deliveries where (app_id, delivery_id) in (
      select app_id, delivery_id from webhook_deliveries
      where ended_at < now() - make_interval(days => ${days})
      order by ended_at limit ${rowsAtATime} for update skip locked
    )
  `
  return await removeInBatches(db, statement, shutdown)
}

/**
 * Removes the rows of endpoints that were removed, with all their deliveries, a few at a time. Returns the number of
 * endpoints. Safe to run in several processes at once. Ends early if the process shuts down.
 */
export async function clearRemovedEndpoints(db: Database, shutdown: AbortSignal | undefined): Promise<number> {
  const removed = await db
    .selectFrom('webhook_endpoints')
    .select(['app_id', 'endpoint_id'])
    .where('removed_at', 'is not', null)
    .execute()
  let cleared = 0
  for (const { app_id: appId, endpoint_id: endpointId } of removed) {
    const deliveries = sql`
      delete from webhook_deliveries where app_id = ${appId} and delivery_id in (
        select delivery_id from webhook_deliveries where app_id = ${appId} and endpoint_id = ${endpointId}
        limit ${rowsAtATime} for update skip locked
      )
    `
    await removeInBatches(db, deliveries, shutdown)
    if (shutdown?.aborted) return cleared
    const { numAffectedRows } = await sql`
      delete from webhook_endpoints e where app_id = ${appId} and endpoint_id = ${endpointId} and not exists (
        select from webhook_deliveries d where d.app_id = e.app_id and d.endpoint_id = e.endpoint_id
      )
    `.execute(db)
    cleared += Number(numAffectedRows ?? 0)
  }
  return cleared
}

/**
 * Removes the names of files from an app's deliveries, because a deletion completes: a name may contain the ID of a
 * deleted user. Waits for transactions that hold a delivery. Throws when the process shuts down.
 */
export async function forgetFileNames(db: Database, appId: number, shutdown: AbortSignal | undefined): Promise<void> {
  const statement = sql`
    update webhook_deliveries set has_file_name = false, body = jsonb_set(body::jsonb, '{data,file_name}', 'null')::text
    where app_id = ${appId} and delivery_id in (
      select delivery_id from webhook_deliveries where app_id = ${appId} and has_file_name
      order by delivery_id limit ${rowsAtATime} for update
    )
  `
  await removeInBatches(db, statement, shutdown)
  shutdown?.throwIfAborted()
}
