import { openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { basename } from 'node:path'
import type { ImportOptions, Sluice } from '@sluice/client'
import { Failure } from './failure.ts'
import { openTransfer } from './progress.ts'

/** Uploads a file with a progress bar (design.md §2, Upload). Returns the import's ID. */
export async function uploadFile(client: Sluice, file: string, options: ImportOptions): Promise<string> {
  const found = await stat(file).catch(() => undefined)
  if (found === undefined || !found.isFile()) throw new Failure(`${file} is not a file that can be read`)
  const progress = openTransfer('Uploading')
  const importId = await client.upload(await openAsBlob(file), {
    ...options,
    fileName: basename(file),
    onProgress: (now) => {
      if (now.phase === 'upload') progress.show(now.bytes, now.totalBytes)
    },
  })
  progress.end()
  return importId
}
