import { createWriteStream } from 'node:fs'
import { rename, rm, stat, writeFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { ExportView, Sluice } from '@sluice/client'
import { Failure, messageOf } from '@sluice/client-cli/failure'
import { openTransfer } from '@sluice/client-cli/progress'

/**
 * Exports with a progress bar (second-day.md §3, Command line). The file appears under its name when it is complete.
 *
 * Returns the export as the API shows it. Throws {@link Failure} if the download breaks off, or before the export is
 * requested if the file cannot be written.
 */
export async function downloadExport(
  client: Sluice,
  keys: readonly string[] | undefined,
  out: string,
): Promise<ExportView> {
  // The process ID keeps other files, and those of another export, as they are.
  const partial = `${out}.${process.pid}.part`
  await checkWritable(out, partial)
  const progress = openTransfer('Downloading')
  const { view, stream } = await client.export({
    keys,
    onProgress: (now) => {
      if (now.phase === 'download') progress.show(now.bytes, now.totalBytes)
    },
  })
  await write(stream, partial, out)
  progress.end()
  return view
}

async function checkWritable(out: string, partial: string): Promise<void> {
  if (await isFolder(out)) throw new Failure(`--out must name a file, and ${out} is a folder`, 2)
  if (!(await isFolder(dirname(out)))) throw new Failure(`--out: there is no folder ${dirname(out)}`, 2)
  await writeFile(partial, '').catch((error: unknown) => {
    throw new Failure(`--out: ${dirname(out)} cannot be written to: ${messageOf(error)}`, 2)
  })
  await rm(partial)
}

const isFolder = async (path: string) => (await stat(path).catch(() => undefined))?.isDirectory() === true

async function write(stream: ReadableStream<Uint8Array>, partial: string, out: string): Promise<void> {
  try {
    await pipeline(Readable.fromWeb(stream), createWriteStream(partial))
    await rename(partial, out)
  } catch (error) {
    await rm(partial, { force: true })
    throw new Failure(`the download was interrupted: ${messageOf(error)}`)
  }
}
