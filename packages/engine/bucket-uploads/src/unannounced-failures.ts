import { type Database, sql } from '@sluice/database'

/** A file is refused after this many failed attempts to import it, if they span at least `minFailingSeconds`. */
const maxFailures = 10
const minFailingSeconds = 60 * 60

/** The reason for refusing a file that could not be read from storage, as the mail states it. */
export const unreadableProblem = 'storage did not hand over the file for an hour'

/** An unannounced file, identified by its hash. */
interface FailedFile {
  appId: number
  hash: Buffer
}

/**
 * Records a failed attempt to import a file, and refuses the file after ten failures over at least an hour
 * (design.md §4, 8).
 *
 * Later files of the app wait until the file is imported or refused. Without the limit, they could wait forever.
 */
export async function noteFailure(db: Database, { appId, hash }: FailedFile): Promise<void> {
  await sql`
    insert into unannounced_file_failures as f (app_id, file_hash) values (${appId}, ${hash})
    on conflict (app_id, file_hash) do update set
      failures = f.failures + 1,
      -- Postgres's clock may have been set back since.
      first_failed_at = least(f.first_failed_at, now()),
      refused_at = coalesce(f.refused_at, case
        when f.failures + 1 >= ${maxFailures} and f.first_failed_at <= now() - make_interval(secs => ${minFailingSeconds})
        then now()
      end)
  `.execute(db)
}

/** Notes that a mail about a refused file is sent. Returns false if one was sent before. */
export async function noteMail(tx: Database, { appId, hash }: FailedFile): Promise<boolean> {
  const { rows } = await sql`
    insert into unannounced_file_failures as f (app_id, file_hash, failures, mailed_at) values (${appId}, ${hash}, 0, now())
    on conflict (app_id, file_hash) do update set mailed_at = now() where f.mailed_at is null
    returning 1
  `.execute(tx)
  return rows.length > 0
}

/**
 * Returns the times at which files were refused, by the files' hashes in hex: of one app, or of all apps.
 *
 * Deletes the failures of files that are not in `inBucket`.
 */
export async function refusedFiles(
  db: Database,
  inBucket: readonly FailedFile[],
  ofApp?: number,
): Promise<Map<string, Date>> {
  let query = db.selectFrom('unannounced_file_failures').select(['app_id', 'file_hash', 'refused_at'])
  if (ofApp !== undefined) query = query.where('app_id', '=', ofApp)
  const failures = await query.execute()
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

/**
 * Whether a file is refused. Locks the file's failures, so that no other process refuses it before the transaction
 * ends.
 */
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
