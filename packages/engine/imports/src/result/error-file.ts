import { isUtf8 } from 'node:buffer'
import { ErrorLines } from '@sluice/batches'
import type { Settings } from '@sluice/config'
import { errorFileHeader } from '@sluice/csv'
import { sql } from '@sluice/database'
import { errorFileKey } from '../file/object-keys.ts'
import { allRows, chunksOf, type EndedRun, type StoredFile, selectChunks, toChunk } from './chunks.ts'

export interface StoredErrorFile extends StoredFile {
  /** All bytes of the file are UTF-8. */
  isUtf8: boolean
}

/** Size of a page of Postgres, and its greatest overhead (headers, and the page's share of the indexes), bytes. */
const [pageBytes, pageOverheadBytes] = [8_192, 512]

/**
 * Returns the bytes that the rows of an error file may take (design.md §3, Error file's size). Neither the file, nor
 * the disk space for its rows in Postgres, then exceeds `ERROR_FILE_LIMIT`. Accepts the columns of the upload.
 */
export function errorRoomBytes(settings: Settings<'ERROR_FILE_LIMIT'>, columns: readonly string[]): number {
  const limitBytes = settings.ERROR_FILE_LIMIT
  return limitBytes - Math.floor(limitBytes / pageBytes) * pageOverheadBytes - errorFileHeader(columns).length
}

/**
 * Makes the error file from the chunks that were committed with the batches, and stores it.
 *
 * The file ends before the first invalid row that does not fit into `ERROR_FILE_LIMIT` as it was when the import began.
 * If a limit that was raised since applied, rows that were not kept would be missing in the middle.
 *
 * Throws the errors of storage, and an AbortError if the process shuts down.
 */
export async function storeErrorFile(run: EndedRun): Promise<StoredErrorFile> {
  const { storage, shutdown: signal } = run.context
  const { appId, importId, attempt } = run.claim
  const plan = await planFile(run)
  const { endsBeforeRow } = plan
  if (plan.byteSize === 0) return { key: undefined, endsBeforeRow, isUtf8: false }
  const key = errorFileKey(appId, importId, attempt)
  const header = errorFileHeader(columnsOf(run))
  const byteSize = header.length + plan.byteSize
  let isText = true
  async function* content() {
    for await (const lines of fileOf(run, header, plan)) {
      // A piece has whole lines, and no line ends within a character.
      isText &&= isUtf8(lines)
      yield lines
    }
  }
  await storage.writeStream(key, content(), 'text/csv; charset=utf-8', { byteSize, signal })
  return { key, endsBeforeRow, isUtf8: isText }
}

/** Returns the columns of the upload. */
function columnsOf({ progress }: EndedRun): readonly string[] {
  return progress.columns ?? []
}

/** Returns the names that messages use: those of the columns, and for an undo those of the keys. */
function namesOf(run: EndedRun): readonly string[] {
  const keys = run.claim.undoOf === null ? [] : Object.keys(run.progress.types)
  return [...columnsOf(run), ...keys]
}

/** The size of an error file, before it is made. */
interface FilePlan extends Pick<StoredFile, 'endsBeforeRow'> {
  /** Number of bytes of all lines that fit into the file. */
  byteSize: number
  /** Maximum number of bytes of the lines. */
  roomBytes: number
  /** Bytes of the longest chunk in its short form. */
  longestChunkBytes: number
}

/** Determines where the file ends. If not all rows fit, it ends within the chunk that exceeds the limit. */
async function planFile(run: EndedRun): Promise<FilePlan> {
  const { context, claim } = run
  const columns = columnsOf(run)
  // A single statement. If a process is removing all rows (`disk-full.ts`), the statement waits, and then sees that the
  // import keeps no rows.
  const { rows } = await sql<{ of_all: number; room: number; is_dropped: boolean; longest: number; fitting: number }>`
    select error_bytes as of_all, room, error_file_ends_before_row is not null as is_dropped, longest, fitting
    from imports
    cross join lateral (select coalesce(error_room, ${errorRoomBytes(context.settings, columns)}::bigint) as room) limits
    cross join lateral (
      select coalesce(max(octet_length(content)), 0) as longest,
        coalesce(sum(bytes) filter (where starts_at + bytes <= room), 0)::bigint as fitting
      from import_chunks c where c.app_id = imports.app_id and c.import_id = imports.import_id and c.file = 'errors'
    ) chunks
    where app_id = ${claim.appId} and import_id = ${claim.importId}
  `.execute(context.db)
  const [found] = rows
  if (found === undefined || found.is_dropped)
    return { byteSize: 0, roomBytes: 0, longestChunkBytes: 0, endsBeforeRow: allRows }
  const { of_all: ofAll, room: roomBytes, longest: longestChunkBytes, fitting: byteSize } = found
  const plan = { byteSize, roomBytes, longestChunkBytes }
  if (ofAll <= roomBytes) return { ...plan, endsBeforeRow: undefined }
  const [crossing] = await selectChunks(run, 'errors').where(sql`starts_at + bytes`, '>', roomBytes).limit(1).execute()
  // The header alone is too large, or a deletion dropped the rows that were kept.
  if (crossing === undefined) return { ...plan, endsBeforeRow: allRows }
  const cut = new ErrorLines(namesOf(run)).cut(toChunk(crossing).content, roomBytes - crossing.starts_at)
  return { ...plan, byteSize: byteSize + cut.byteSize, endsBeforeRow: cut.endsBeforeRow }
}

/** Returns the header, and the lines of the chunks in file order, as far as whole lines fit. */
async function* fileOf(run: EndedRun, header: Buffer, plan: FilePlan): AsyncGenerator<Buffer> {
  yield header
  const lines = new ErrorLines(namesOf(run))
  for await (const { content, starts_at: startsAt } of chunksOf(run, 'errors', plan.longestChunkBytes)) {
    yield* lines.of(content, plan.roomBytes - startsAt)
  }
}
