import { Readable } from 'node:stream'
import { setImmediate as immediate } from 'node:timers/promises'
import { createGzip } from 'node:zlib'
import { ChangeLines, changesFileHeader, decompressedRows } from '@sluice/batches'
import type { ValueType } from '@sluice/contract'
import { registeredKeys } from '@sluice/profiles'
import { changesFileKey } from '../file/object-keys.ts'
import { allRows, chunksOf, type EndedRun, type StoredFile, selectChunks } from './chunks.ts'

/** As for exports: level 1 takes two fifths of the processor time of the default. */
const gzipOptions = { level: 1, chunkSize: 2 ** 18 }

/**
 * Makes the changes file from the chunks that were committed with the batches, and stores it
 * (changes.md §1, The changes file). Stores none if the import does not keep its changes, or if its rows were removed.
 *
 * Throws the errors of storage, and an AbortError if the process shuts down.
 */
export async function storeChangesFile(run: EndedRun): Promise<StoredFile> {
  const { context, claim } = run
  if (!claim.keepsChanges) return { key: undefined, endsBeforeRow: undefined }
  const endsBeforeRow = await endOfChunks(run)
  if (endsBeforeRow === allRows) return { key: undefined, endsBeforeRow }
  const maxBytes = context.settings.CHANGES_FILE_LIMIT - changesFileHeader.length
  const keys = claim.undoOf === null ? (run.progress.columns ?? []) : Object.keys(run.progress.types)
  const lines = new ChangeLines(keys, await typesOf(run), maxBytes)
  const key = changesFileKey(claim.appId, claim.importId, claim.attempt)
  const file = Readable.from(fileOf(run, lines)).pipe(createGzip(gzipOptions))
  await context.storage.writeStream(key, file, 'application/gzip', { signal: context.shutdown })
  return { key, endsBeforeRow: lines.endsBeforeRow ?? endsBeforeRow }
}

/**
 * Returns the types of all keys that rows may have changed. A key that was disabled meanwhile is no longer among the
 * types of the run (changes.md §4).
 */
async function typesOf({ context, claim, progress }: EndedRun): Promise<Record<string, ValueType>> {
  const registered = await registeredKeys(context.db, claim.appId)
  return { ...Object.fromEntries(Array.from(registered, ([key, { type }]) => [key, type])), ...progress.types }
}

/** Returns the first row with changes that was not kept; undefined if all were. */
async function endOfChunks({ context, claim }: EndedRun): Promise<number | undefined> {
  const found = await context.db
    .selectFrom('imports')
    .select('changes_file_ends_before_row')
    .where('app_id', '=', claim.appId)
    .where('import_id', '=', claim.importId)
    .executeTakeFirst()
  return found?.changes_file_ends_before_row ?? undefined
}

async function* fileOf(run: EndedRun, lines: ChangeLines): AsyncGenerator<Buffer> {
  yield changesFileHeader
  for await (const { content } of chunksOf(run, 'changes', await longestChunk(run))) {
    for (const piece of lines.of(await decompressedRows(content))) {
      yield piece
      await immediate() // so that the piece is compressed while the next one is made
    }
    if (lines.endsBeforeRow !== undefined) return
  }
}

async function longestChunk(run: EndedRun): Promise<number> {
  const { longest } = await selectChunks(run, 'changes')
    .clearSelect()
    .clearOrderBy()
    .select(({ fn }) => fn.max<number | null>(fn('octet_length', ['content'])).as('longest'))
    .executeTakeFirstOrThrow()
  return longest ?? 0
}
