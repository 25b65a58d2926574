import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { type ExportAnswer, type ExportView, exportView } from '@sluice/contract'
import { call, callUntilAnswered, mayPass } from './api-calls.ts'
import { Failure } from './failure.ts'
import { openProgress } from './progress.ts'

/** For how long to wait for an API that does not answer. */
const outagePatienceMs = 3 * 60_000

/**
 * Requests an export, waits for its end, and downloads the file with a progress bar. The file appears under its name
 * when it is complete.
 *
 * Returns the export as the API shows it. Throws {@link Failure} with the error message of the API or of storage.
 */
export async function downloadExport(
  api: string,
  token: string,
  keys: readonly string[] | undefined,
  out: string,
): Promise<ExportView> {
  const requested = await callUntilAnswered(`${api}/v1/exports`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Service-Token': token, 'Idempotency-Key': crypto.randomUUID() },
    body: JSON.stringify({ keys }),
  })
  const { export_id: exportId } = (await requested.json()) as ExportAnswer
  const view = await endOf(api, token, exportId)
  if (view.file_url === null) throw new Failure(`the export has ${view.state}: ${view.error ?? 'its file is gone'}`)
  await download(view.file_url, view.bytes, out)
  return view
}

/** Polls an export until it has ended. */
async function endOf(api: string, token: string, exportId: string): Promise<ExportView> {
  let deadline = performance.now() + outagePatienceMs
  for (let pauseMs = 200; ; pauseMs = Math.min(pauseMs * 1.5, 2_000)) {
    try {
      const response = await call(`${api}/v1/exports/${exportId}`, { headers: { 'X-Service-Token': token } })
      const view = exportView.parse(await response.json())
      if (view.finished_at !== null) return view
      deadline = performance.now() + outagePatienceMs
    } catch (error) {
      if (!mayPass(error) || performance.now() > deadline) throw error
    }
    await delay(pauseMs)
  }
}

async function download(url: string, bytes: number, out: string): Promise<void> {
  const { body } = await call(url, {})
  const partial = `${out}.part`
  const progress = openProgress('Downloading', bytes)
  try {
    await pipeline(
      body === null ? Readable.from([]) : Readable.fromWeb(body),
      progress.count,
      createWriteStream(partial),
    )
    await rename(partial, out)
  } catch (error) {
    await rm(partial, { force: true })
    throw new Failure(`the download was interrupted: ${error instanceof Error ? error.message : String(error)}`)
  }
  progress.end()
}
