import { randomBytes } from 'node:crypto'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGzip } from 'node:zlib'
import { fileMessages, limits, userIdColumn } from '@sluice/contract'
import { headerLine } from '@sluice/csv'
import { copyOut, type Database, sql } from '@sluice/database'
import { keepUsers, registeredKeys } from '@sluice/profiles'
import { enqueueEvent, isEventChosen } from '@sluice/webhooks'
import { claimed, type ExportClaim, ExportClaimLost, keepClaim, mostTries, retryPausesSeconds } from './claim.ts'
import { type ExportContext, exportKey } from './context.ts'
import { copyStatement, type ExportColumn } from './statement.ts'
import { showExport } from './view.ts'

/** How the run of a claim ended. */
export type ExportOutcome = 'completed' | 'failed' | 'released' | 'lost'

/** The export cannot succeed in any try. */
class ExportImpossible extends Error {
  override readonly name = 'ExportImpossible'
}

/** Level 1 takes two fifths of the processor time of the default level 6. The file is a tenth larger. */
const gzipOptions = { level: 1, chunkSize: 2 ** 18 }

/**
 * Runs a claimed export: writes all profiles of one snapshot into a gzip file, in constant memory. When `shutdown`
 * aborts, releases the claim; another worker begins again. A try that fails is repeated later, a few times.
 *
 * Returns how the claim ended. Throws if Postgres cannot be reached. In that case, another worker claims the export
 * when the lease has ended.
 */
export async function runExport(
  context: ExportContext,
  claim: ExportClaim,
  shutdown: AbortSignal,
): Promise<ExportOutcome> {
  const log = context.log.child({ app_id: claim.appId, export_id: claim.exportId, attempt: claim.attempt })
  const progress = { bytes: 0 }
  const kept = keepClaim({ ...context, log }, claim, () => progress.bytes)
  const timeLimit = AbortSignal.timeout(context.settings.EXPORT_TIME_LIMIT)
  const signal = AbortSignal.any([kept.lost, shutdown, timeLimit])
  log.info({ tries: claim.tries }, 'export claimed')
  try {
    // The workers of all earlier tries may have died, so that none of them has failed the export.
    if (claim.tries > mostTries) throw new ExportImpossible(fileMessages.tooManyAttempts(mostTries))
    const rows = await writeFile(context, claim, progress, signal)
    await complete(context, claim, rows, progress.bytes)
    log.info({ rows, bytes: progress.bytes }, 'export completed')
    return 'completed'
  } catch (error) {
    const isLost = kept.lost.aborted || error instanceof ExportClaimLost
    const cause = timeLimit.aborted ? tookTooLong(context) : error
    const outcome = isLost ? 'lost' : await release({ ...context, log }, claim, cause, shutdown.aborted)
    // The answer to the commit that completed the export may be lost: then the error says nothing about the commit.
    if (await isCompleted(context.db, claim)) {
      log.info('export completed, though the answer was lost')
      return 'completed'
    }
    await context.storage.removeAll(exportKey(claim, claim.attempt)).catch((cause: unknown) => {
      log.warn({ err: cause }, 'file of an interrupted export not removed')
    })
    if (isLost) log.warn('claim of the export lost')
    return outcome
  } finally {
    kept.stop()
  }
}

/** Another try would hold a slot and a snapshot for as long, so there is none. */
function tookTooLong({ settings }: ExportContext): ExportImpossible {
  const minutes = Math.ceil(settings.EXPORT_TIME_LIMIT / 60_000)
  return new ExportImpossible(`the export took longer than ${minutes} min; request fewer keys at a time`)
}

/** Writes the file. Returns the number of its rows. */
async function writeFile(
  { db, storage }: ExportContext,
  claim: ExportClaim,
  progress: { bytes: number },
  signal: AbortSignal,
): Promise<number> {
  await noteSnapshot(db, claim)
  const compress = (columns: readonly ExportColumn[]) => async (source: Readable) => {
    const gzip = createGzip(gzipOptions)
    gzip.write(headerLine([userIdColumn, ...columns.map((column) => column.key)]))
    const key = exportKey(claim, claim.attempt)
    const writing = storage.writeStream(key, counted(gzip, progress), 'application/gzip', { signal })
    await Promise.all([pipeline(source, gzip, { signal }), writing])
  }
  return await db.connection().execute(async (connection) => {
    try {
      // second-day.md §3, Export file.
      await sql`begin isolation level repeatable read`.execute(connection)
      // An export reads all users of an app, so a sequential scan may be the fastest plan. Connections turn it off
      // otherwise.
      await sql`set local enable_seqscan = on`.execute(connection)
      const columns = await columnsOf(connection, claim)
      const statement = copyStatement(claim.appId, columns)
      const { rows } = await connection.executeQuery(copyOut({ statement, consume: compress(columns), signal }))
      return rows[0]?.copied ?? 0
    } catch (error) {
      // A failed copy has closed the connection, so the rollback fails as well.
      await sql`rollback`.execute(connection).catch(() => {})
      throw error
    }
  })
}

/**
 * Numbers the snapshot that follows. Waits for deletions in flight: one with a lower number must have committed, or the
 * snapshot would still have its users.
 */
async function noteSnapshot(db: Database, claim: ExportClaim): Promise<void> {
  await db.transaction().execute(async (tx) => {
    await sql`select ${keepUsers(claim.appId)}`.execute(tx)
    const noted = claimed(tx, claim).set({ snapshot_order: sql<number>`nextval('data_order')` })
    if ((await noted.executeTakeFirst()).numUpdatedRows === 0n)
      throw new ExportClaimLost('the export was restarted or ended')
  })
}

async function columnsOf(tx: Database, { appId, keys }: ExportClaim): Promise<ExportColumn[]> {
  const registered = await registeredKeys(tx, appId)
  const enabled = new Set([...registered.keys()].filter((key) => registered.get(key)?.enabled))
  const chosen = keys ?? [...enabled]
  if (chosen.length > limits.exportKeys) {
    throw new ExportImpossible(`an export has at most ${limits.exportKeys} keys, and the app has ${chosen.length}`)
  }
  // A key may have been disabled since the request named it: its column is empty then (changes.md §4).
  return chosen.map((key) => ({ key, type: enabled.has(key) ? registered.get(key)?.type : undefined }))
}

async function* counted(chunks: AsyncIterable<Buffer>, progress: { bytes: number }): AsyncGenerator<Buffer> {
  for await (const chunk of chunks) {
    progress.bytes += chunk.length
    yield chunk
  }
}

/** Ends the export, and records its webhook deliveries. Throws {@link ExportClaimLost}. */
async function complete({ db, settings }: ExportContext, claim: ExportClaim, rows: number, bytes: number) {
  const linkDays = Math.min(limits.errorFileLinkDays, settings.FILE_RETENTION_DAYS)
  await db.transaction().execute(async (tx) => {
    const { numUpdatedRows } = await claimed(tx, claim)
      .set({
        state: 'completed',
        rows,
        bytes,
        lease_until: null,
        finished_at: sql<Date>`now()`,
        file_secret: randomBytes(24).toString('base64url'),
        file_expires_at: sql<Date>`now() + make_interval(days => ${linkDays})`,
      })
      .executeTakeFirst()
    if (numUpdatedRows === 0n) throw new ExportClaimLost('the export was restarted or ended')
    await enqueueExportEvent(tx, claim)
  })
}

/** Whether this claim has completed the export. Waits for a commit that is still in flight, which locks the row. */
async function isCompleted(db: Database, { appId, exportId, attempt }: ExportClaim): Promise<boolean> {
  const found = await db
    .selectFrom('exports')
    .select('state')
    .where('app_id', '=', appId)
    .where('export_id', '=', exportId)
    .where('attempt', '=', attempt)
    .forUpdate()
    .executeTakeFirst()
  return found?.state === 'completed'
}

/**
 * Records the webhook deliveries of a completed export (second-day.md §5, Event bodies). The data of the event are the
 * view of the export without the link to the file.
 */
async function enqueueExportEvent(tx: Database, { appId, exportId }: ExportClaim): Promise<void> {
  const type = 'export.completed'
  if (!(await isEventChosen(tx, appId, type))) return
  const view = await showExport(tx, '', appId, exportId)
  if (view === undefined) throw new Error(`export ${exportId} is gone`)
  const { file_url: _, ...data } = view
  await enqueueEvent(tx, appId, { type, id: exportId, timestamp: view.finished_at ?? view.requested_at, data })
}

/**
 * Releases the claim for a later try. Fails the export after its last try, or at once if it is impossible. A shutdown
 * uses up no try.
 */
async function release(
  { db, log }: ExportContext,
  claim: ExportClaim,
  error: unknown,
  isShutdown: boolean,
): Promise<ExportOutcome> {
  const pauseSeconds = retryPausesSeconds[claim.tries - 1]
  const isFinal = !isShutdown && (error instanceof ExportImpossible || pauseSeconds === undefined)
  if (!isShutdown) log.warn({ err: error, tries: claim.tries }, isFinal ? 'export failed' : 'export is tried again')
  if (isFinal) {
    const reason = error instanceof ExportImpossible ? error.message : fileMessages.tooManyAttempts(claim.tries)
    await claimed(db, claim)
      .set({ state: 'failed', error: reason, bytes: 0, lease_until: null, finished_at: sql<Date>`now()` })
      .execute()
    return 'failed'
  }
  await claimed(db, claim)
    .set({
      state: 'queued',
      bytes: 0,
      lease_until: null,
      retry_at: isShutdown ? null : sql<Date>`now() + make_interval(secs => ${pauseSeconds ?? 0})`,
      ...(isShutdown && { tries: sql<number>`tries - 1` }),
    })
    .execute()
  return 'released'
}
