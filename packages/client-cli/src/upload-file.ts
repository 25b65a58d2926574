import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ImportOptions, Sluice } from '@sluice/client'
import { Failure } from './failure.ts'
import { printable } from './printable.ts'
import { openTransfer } from './progress.ts'

/**
 * Uploads a file with a progress bar (design.md §2, Upload). Returns the import's ID. Ctrl-C ends the upload: the
 * client cancels its import, and the process ends with exit code 130.
 */
export async function uploadFile(client: Sluice, file: string, options: ImportOptions): Promise<string> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined || !found.isFile()) throw new Failure(`${file} is not a file that can be read`)
  const content = await openAsBlob(file)
  await warnOfOtherForms(file, content)
  const progress = openTransfer('Uploading')
  const interrupted = new AbortController()
  const interrupt = () => interrupted.abort()
  process.once('SIGINT', interrupt)
  try {
    const importId = await client.upload(content, {
      ...options,
      fileName: basename(file),
      onProgress: (now) => {
        if (now.phase === 'upload') progress.show(now.bytes, now.totalBytes)
      },
      signal: interrupted.signal,
    })
    progress.end()
    return importId
  } catch (error) {
    if (!interrupted.signal.aborted) throw error
    process.stderr.write('\nThe upload was interrupted. An import without its file is cancelled.\n')
    process.exit(130)
  } finally {
    process.removeListener('SIGINT', interrupt)
  }
}

/**
 * Warns of a workbook, and of a header that has a separator of spreadsheets and no comma: none of its columns can be
 * `user_id`.
 */
async function warnOfOtherForms(file: string, content: Blob): Promise<void> {
  const start = await content.slice(0, 10_000).text()
  const name = printable(basename(file))
  if (start.startsWith('PK\u0003\u0004'))
    return void process.stderr.write(`sluice: ${name} is a workbook or another ZIP file. Save it as CSV (UTF-8).\n`)
  const header = start.split(/[\r\n]/, 1)[0] ?? ''
  const isGzip = header.startsWith('\u001f')
  if (isGzip || header.includes(',') || !/[;\t]/.test(header)) return
  const separator = header.includes(';') ? 'semicolons' : 'tabs'
  process.stderr.write(
    `sluice: the first line of ${name} has ${separator} and no commas. ` +
      'The data import page of the dashboard converts such files.\n',
  )
}
