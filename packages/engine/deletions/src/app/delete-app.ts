import { endSignIns } from '@sluice/accounts'
import { pathOf } from '@sluice/bucket-uploads'
import { type Database, isDue, sql } from '@sluice/database'
import { cancelImportsOfApp, type FilesContext } from '@sluice/imports'
import { appPrefix, lastWriteHours, lastWriteMs } from '@sluice/storage'
import { removeEndpointsOfApp } from '@sluice/webhooks'
import { appTables, deleteRows } from './tables.ts'

/** Rows that were deleted, by table. */
export type DeletedRows = Record<string, number>

/**
 * Begins the deletion of an app, which cannot be undone (second-day.md §6, Deleting an app). From now on nobody can use
 * the app: its tokens, access keys and members are gone, its imports are cancelled, and neither mails nor webhooks are
 * sent. {@link deleteApp} removes the rest.
 *
 * Returns false if there is no such app. Succeeds if the deletion has begun already.
 */
export async function beginAppDeletion(db: Database, appId: number): Promise<boolean> {
  return await db.transaction().execute(async (tx) => {
    const { numAffectedRows } = await sql`
      update apps set deleting_at = coalesce(deleting_at, now()), paused_at = coalesce(paused_at, now())
      where app_id = ${appId}
    `.execute(tx)
    if (Number(numAffectedRows ?? 0) === 0) return false
    for (const table of ['api_tokens', 'access_keys', 'invitations'] as const) {
      await tx.deleteFrom(table).where('app_id', '=', appId).execute()
    }
    await removeMembers(tx, appId)
    await removeEndpointsOfApp(tx, appId)
    await cancelImportsOfApp(tx, appId)
    return true
  })
}

/** Removes all members of an app, and ends the sign-ins of those who belong to no other app and are no operators. */
async function removeMembers(tx: Database, appId: number): Promise<void> {
  const removed = await tx.deleteFrom('members').where('app_id', '=', appId).returning('email').execute()
  const { rows } = await sql<{ email: string }>`
    select email from unnest(${removed.map((member) => member.email)}::text[]) as email
    except select email from members except select email from operators
    order by email
  `.execute(tx)
  for (const { email } of rows) await endSignIns(tx, email)
}

/**
 * Deletes everything of an app whose deletion has begun. It removes the stored files, then the rows of all tables in
 * bounded batches, and finally the row of the app. Each batch commits on its own. After a crash the next call
 * continues, and several processes may run it at once.
 *
 * Returns the deleted rows. Throws an AbortError if the process shuts down, or the errors of storage.
 */
export async function deleteApp(context: FilesContext, appId: number): Promise<DeletedRows> {
  const { db, shutdown, log } = context
  const deleted: DeletedRows = {}
  await removeFiles(context, appId)
  // A request that began before the deletion may insert a row that refers to the app. The app's row can then not be
  // deleted, so the loop deletes the rows of all tables again.
  for (let tries = 1; ; tries++) {
    try {
      for (const table of appTables) {
        const rows = await deleteRows(db, table, appId, shutdown)
        deleted[table.name] = (deleted[table.name] ?? 0) + rows
      }
      await deleteAppRow(db, appId)
      break
    } catch (error) {
      if (tries === maxTries || !(error instanceof Error && 'code' in error && error.code === foreignKeyViolation))
        throw error
    }
  }
  await removeFiles(context, appId)
  log.info({ app_id: appId, ...deleted }, 'app deleted')
  return deleted
}

const maxTries = 5
const foreignKeyViolation = '23503'

async function deleteAppRow(db: Database, appId: number): Promise<void> {
  await db.transaction().execute(async (tx) => {
    const { numDeletedRows } = await tx
      .deleteFrom('apps')
      .where('app_id', '=', appId)
      .where('deleting_at', 'is not', null)
      .executeTakeFirst()
    if (numDeletedRows === 0n) return
    await tx.deleteFrom('rate_limits').where('key', '>=', `${appId}:`).where('key', '<', `${appId};`).execute()
    await sql`
      insert into deleted_apps (former_app_id, sweep_at) values (${appId}, now() + make_interval(hours => ${lastWriteHours}))
    `.execute(tx)
  })
}

async function removeFiles({ storage }: FilesContext, appId: number): Promise<void> {
  for (const prefix of [appPrefix(appId), pathOf(appId)]) await storage.removeAll(prefix)
}

/**
 * Continues the deletions of apps that have begun. Afterwards, sweeps the apps that were deleted 25 hours ago: removes
 * what requests from before the deletion have written since. If an app fails, continues with the others, and throws the
 * first error at the end.
 *
 * Returns the IDs of the apps that it deleted.
 */
export async function deleteApps(context: FilesContext): Promise<number[]> {
  const { db, shutdown } = context
  const deleted: number[] = []
  const failures: unknown[] = []
  const each = async (appIds: readonly number[], work: (appId: number) => Promise<void>) => {
    for (const appId of appIds) {
      shutdown?.throwIfAborted()
      await work(appId).catch((error: unknown) => failures.push(error))
    }
  }
  const begun = await db.selectFrom('apps').select('app_id').where('deleting_at', 'is not', null).execute()
  await each(
    begun.map((app) => app.app_id),
    async (appId) => {
      await deleteApp(context, appId)
      deleted.push(appId)
    },
  )
  const due = await db
    .selectFrom('deleted_apps')
    .select('former_app_id')
    .where(sql<boolean>`${isDue(sql`sweep_at`, lastWriteMs)}`)
    .execute()
  await each(
    due.map((app) => app.former_app_id),
    (appId) => sweepApp(context, appId),
  )
  shutdown?.throwIfAborted()
  if (failures.length > 0) throw new AggregateError(failures, 'apps are not deleted')
  return deleted
}

async function sweepApp(context: FilesContext, appId: number): Promise<void> {
  await removeFiles(context, appId)
  for (const table of appTables) await deleteRows(context.db, table, appId, context.shutdown)
  await context.db.deleteFrom('deleted_apps').where('former_app_id', '=', appId).execute()
}
