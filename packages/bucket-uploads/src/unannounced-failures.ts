import { type Database, sql } from '@sluice/database'

/** A file is refused if so many runs of maintenance failed to take it on, over at least this time, seconds. */
const mostFailures = 10
const longestWait = 60 * 60

/** Why a file is refused that storage did not hand over, as its mail says. */
export const unreadableProblem = 'storage did not hand over the file for an hour'

/** An unannounced file: an object is known by its hash. */
interface FailedFile {
  appId: number
  hash: Buffer
}

/**
 * Notes that a file could not be taken on. Later files of its app wait for it until it is taken on or refused. It is
 * refused after ten failures over at least an hour, so that it blocks nobody for good.
 */
export async function noteFailure(db: Database, { appId, hash }: FailedFile): Promise<void> {
  await sql`
    insert into unannounced_file_failures as f (app_id, file_hash) values (${appId}, ${hash})
    on conflict (app_id, file_hash) do update set
      failures = f.failures + 1,
      refused_at = coalesce(f.refused_at, case
        when f.failures + 1 >= ${mostFailures} and f.first_failed_at <= now() - make_interval(secs => ${longestWait})
        then now()
      end)
  `.execute(db)
}

/**
 * Returns when each refused file was refused, by the hash of the file in hex. Forgets the failures of files that are not
 * among those in the bucket.
 */
export async function refusedFiles(db: Database, inBucket: readonly FailedFile[]): Promise<Map<string, Date>> {
  const failures = await db
    .selectFrom('unannounced_file_failures')
    .select(['app_id', 'file_hash', 'refused_at'])
    .execute()
  if (failures.length === 0) return new Map()
  const hashes = new Set(inBucket.map(({ hash }) => hash.toString('hex')))
  const refused = new Map<string, Date>()
  for (const { app_id: appId, file_hash: hash, refused_at: refusedAt } of failures) {
    const name = hash.toString('hex')
    if (!hashes.has(name)) await forgetFailure(db, { appId, hash })
    else if (refusedAt !== null) refused.set(name, refusedAt)
  }
  return refused
}

/** Whether a file is refused. Until the transaction ends, nobody else refuses a file that has failed before. */
export async function isRefused(tx: Database, { appId, hash }: FailedFile): Promise<boolean> {
  const row = await tx
    .selectFrom('unannounced_file_failures')
    .select('refused_at')
    .where('app_id', '=', appId)
    .where('file_hash', '=', hash)
    .forUpdate()
    .executeTakeFirst()
  return row !== undefined && row.refused_at !== null
}

async function forgetFailure(db: Database, { appId, hash }: FailedFile): Promise<void> {
  await db.deleteFrom('unannounced_file_failures').where('app_id', '=', appId).where('file_hash', '=', hash).execute()
}
