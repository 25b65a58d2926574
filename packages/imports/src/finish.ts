import { randomBytes } from 'node:crypto'
import { limits } from '@sluice/contract'
import { errorFileHeader } from '@sluice/csv'
import { sql } from '@sluice/database'
import { enqueueMails, importNotification, type MailId } from '@sluice/mail'
import { type Claim, ClaimLost, claimed, type Progress } from './claim.ts'
import type { ImportContext } from './context.ts'
import { errorFileUrl } from './error-link.ts'
import { errorFileKey } from './object-keys.ts'

/**
 * Ends an import: puts its error file into storage, then writes its state, and its mails into the outbox, in one
 * transaction that is durable when this returns.
 *
 * Takes the reason for a failed one, undefined for a completed one. Gives the mails. Throws {@link ClaimLost}, and what
 * storage throws: an import is not completed without its error file.
 */
export async function finish(
  context: ImportContext,
  claim: Claim,
  progress: Progress,
  error: string | undefined,
): Promise<MailId[]> {
  const key = await storeErrorFile(context, claim, progress, error !== undefined)
  const secret = key === undefined ? null : randomBytes(24).toString('base64url')
  return await context.db.transaction().execute(async (tx) => {
    const result = await claimed({ db: tx }, claim)
      .set({
        state: error === undefined ? 'completed' : 'failed',
        error: error?.replaceAll('\0', '�').toWellFormed() ?? null,
        lease_until: null,
        types: JSON.stringify(progress.types),
        finished_at: sql<Date>`now()`,
        error_file_key: key ?? null,
        error_file_secret: secret,
        error_file_expires_at:
          key === undefined ? null : sql<Date>`now() + make_interval(secs => ${limits.errorFileLink / 1000})`,
      })
      .executeTakeFirst()
    if (result.numUpdatedRows === 0n) throw new ClaimLost()
    await tx
      .deleteFrom('import_error_chunks')
      .where('app_id', '=', claim.appId)
      .where('import_id', '=', claim.importId)
      .execute()
    const app = await tx.selectFrom('apps').select('name').where('app_id', '=', claim.appId).executeTakeFirstOrThrow()
    const content = importNotification({
      importId: claim.importId,
      appName: app.name,
      rowsTotal: progress.rowsTotal,
      rowsApplied: progress.rowsApplied,
      rowsFailed: progress.rowsFailed,
      error,
      errorFileUrl: secret === null ? undefined : errorFileUrl(context.settings.API_URL, claim.importId, secret),
    })
    return await enqueueMails(tx, claim.appId, `import:${claim.importId}`, content)
  })
}

/**
 * Joins the committed chunks into the error file. Gives its key, undefined where no row was invalid. For an import that
 * fails anyway, storage trouble is only logged: it must not keep the line waiting.
 */
async function storeErrorFile(
  context: ImportContext,
  claim: Claim,
  progress: Progress,
  mayFail: boolean,
): Promise<string | undefined> {
  if (progress.rowsFailed === 0 || progress.columns === null) return undefined
  const key = errorFileKey(claim.appId, claim.importId)
  try {
    await context.storage.writeStream(key, errorFileChunks(context, claim, progress.columns), 'text/csv; charset=utf-8')
    return key
  } catch (error) {
    if (!mayFail) throw error
    context.log.error({ err: error }, 'error file not stored')
    return undefined
  }
}

async function* errorFileChunks(
  { db }: ImportContext,
  { appId, importId }: Claim,
  columns: readonly string[],
): AsyncGenerator<Buffer> {
  yield errorFileHeader(columns)
  let after = -1
  for (;;) {
    const chunk = await db
      .selectFrom('import_error_chunks')
      .select(['position', 'content'])
      .where('app_id', '=', appId)
      .where('import_id', '=', importId)
      .where('position', '>', after)
      .orderBy('position')
      .limit(1)
      .executeTakeFirst()
    if (chunk === undefined) return
    yield chunk.content
    after = chunk.position
  }
}
