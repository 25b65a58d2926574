import { ImportFailedError, type ImportOptions, type ImportView, type Sluice } from '@sluice/client'
import { Failure } from './failure.ts'
import { describeWithErrors } from './import-text.ts'
import { count } from './text.ts'
import { uploadFile } from './upload-file.ts'
import { watchImport } from './watch-import.ts'

/** What `sluice import` and `sluice-client import` do with a file. */
export interface ImportSettings {
  upload: ImportOptions
  /** Wait until the import has ended or is held. */
  wait?: boolean | undefined
  /** Fail if any row has an error, with {@link wait}. */
  failOnErrors?: boolean | undefined
  /** What precedes the verbs `show`, `cancel` and `approve`, such as `sluice import`. */
  program: string
}

/** Prints a document as JSON, or the text for people, which is made only then. */
export type Print = (document: unknown, text: () => string | Promise<string>) => Promise<void>

/**
 * Uploads a file, waits for its import if that is asked for, and prints the result. Throws {@link Failure} or an error
 * of the client, each of which means exit code 1.
 */
export async function runImport(
  client: Sluice,
  file: string,
  { upload, wait, failOnErrors, program }: ImportSettings,
  print: Print,
): Promise<void> {
  const importId = await uploadFile(client, file, upload)
  // design.md §2, Upload.
  if (!wait) return await print({ import_id: importId }, () => `Import ${importId}`)
  const ended = await watchImport(client, importId, { file, program })
  await print(ended, () => describeWithErrors(ended))
  if (ended.state === 'held') throw heldImport(ended, program)
  if (ended.state !== 'completed') throw new ImportFailedError(ended)
  if (failOnErrors && ended.rows_failed > 0) throw new Failure(`${count(ended.rows_failed)} rows have errors`)
}

/** Returns the failure of a command whose import is held for approval (changes.md §2, The decision). */
export function heldImport({ held, import_id: importId }: ImportView, program: string): Failure {
  return new Failure(`the import is held: ${held?.reasons.join('; ')}. To apply it: ${program} approve ${importId}`)
}
