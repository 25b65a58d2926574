import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ExportView, Sluice } from '@sluice/client'
import { Failure } from '@sluice/client-cli/failure'
import { openTransfer } from '@sluice/client-cli/progress'

/**
 * Exports with a progress bar (second-day.md §3, Command line). The file appears under its name when it is complete.
 *
 * Returns the export as the API shows it. Throws {@link Failure} if the download breaks off.
 */
export async function downloadExport(
  client: Sluice,
  keys: readonly string[] | undefined,
  out: string,
): Promise<ExportView> {
  const progress = openTransfer('Downloading')
  const { view, stream } = await client.export({
    keys,
    onProgress: (now) => {
      if (now.phase === 'download') progress.show(now.bytes, now.totalBytes)
    },
  })
  await write(stream, out)
  progress.end()
  return view
}

async function write(stream: ReadableStream<Uint8Array>, out: string): Promise<void> {
  // The process ID keeps other files, and those of another export, as they are.
  const partial = `${out}.${process.pid}.part`
  try {
    await pipeline(Readable.fromWeb(stream), createWriteStream(partial))
    await rename(partial, out)
  } catch (error) {
    await rm(partial, { force: true })
    throw new Failure(`the download was interrupted: ${error instanceof Error ? error.message : String(error)}`)
  }
}
