import type { ImportView, Sluice } from '@sluice/client'
import { count } from './output.ts'

/**
 * Waits until an import has ended, and returns it. Says its ID at once on stderr, and on a terminal how far it is.
 * Ctrl-C ends only the waiting: it says how to find and to cancel the import, and ends the process with exit code 130.
 */
export async function watchImport(client: Sluice, importId: string): Promise<ImportView> {
  process.stderr.write(`Import ${importId}\n`)
  const began = performance.now()
  let isDrawn = false
  const draw = (view: ImportView) => {
    if (!process.stderr.isTTY) return
    isDrawn = true
    process.stderr.write(`\r\x1b[K${describeProgress(view, (performance.now() - began) / 1_000)}`)
  }
  const endLine = () => void (isDrawn && process.stderr.write('\n'))
  const leave = () => {
    endLine()
    process.stderr.write(`The import runs on. To see it:  sluice import show ${importId}\n`)
    process.stderr.write(`To cancel it: sluice import cancel ${importId}\n`)
    process.exit(130)
  }
  process.once('SIGINT', leave)
  try {
    return await client.waitForImport(importId, { onProgress: (now) => now.phase === 'processing' && draw(now.view) })
  } finally {
    process.removeListener('SIGINT', leave)
    endLine()
  }
}

function describeProgress(view: ImportView, seconds: number): string {
  if (view.paused) return 'imports of the app are paused'
  if (view.state !== 'processing') return view.state === 'queued' ? 'waiting for preceding imports' : view.state
  const rate = Math.round(view.rows_total / Math.max(seconds, 1))
  return `${count(view.rows_total)} rows, ${count(rate)} rows/s, ${count(view.rows_failed)} with errors`
}
