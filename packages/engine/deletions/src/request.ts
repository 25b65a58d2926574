import { randomBytes } from 'node:crypto'
import type { Settings } from '@sluice/config'
import { type Database, encodeTextArray, sql } from '@sluice/database'
import type { deletionRequestSettings } from './context.ts'
import { deletionDates } from './dates.ts'

/** A deletion request that has been checked. */
export interface DeletionRequest {
  appId: number
  /** User IDs, registered or not. A user who registers before the deletion completes is deleted too (design.md §3). */
  userIds: readonly string[]
  /** The last four characters of the request's API token; null if there is none. */
  tokenLastFour: string | null
}

/** Number of user IDs in one statement. An ID has at most 1 KB, so a statement has at most 1 MB. */
const idsPerStatement = 1_000

/**
 * Accepts a deletion request (design.md §3, Deletion: unknown user IDs). Runs `alsoCommit` in its transaction. Returns
 * the request's ID after the commit.
 */
export async function requestDeletion(
  { db, settings }: { db: Database; settings: Settings<(typeof deletionRequestSettings)[number]> },
  { appId, userIds, tokenLastFour }: DeletionRequest,
  now: Date,
  alsoCommit: (tx: Database) => Promise<void> | undefined = () => undefined,
): Promise<string> {
  const { startsAt, completesAt } = deletionDates(now, settings.SERVICE_TIMEZONE)
  const distinct = [...new Set(userIds)]
  return await db.transaction().execute(async (tx) => {
    const { request_id: requestId } = await tx
      .insertInto('deletion_requests')
      .values({
        app_id: appId,
        token_last_four: tokenLastFour,
        accepted_at: now,
        starts_at: startsAt,
        completes_at: completesAt,
        salt: randomBytes(16),
        users_requested: distinct.length,
      })
      .returning('request_id')
      .executeTakeFirstOrThrow()
    // In several statements: encoding all IDs of a large request at once would block the process.
    for (let at = 0; at < distinct.length; at += idsPerStatement) {
      const part = encodeTextArray(distinct.slice(at, at + idsPerStatement))
      await sql`
        insert into deletion_request_users (app_id, request_id, user_id)
        select ${appId}::integer, ${requestId}::uuid, unnest(${part}::text[])
      `.execute(tx)
    }
    await alsoCommit(tx)
    return requestId
  })
}
