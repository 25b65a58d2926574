import type { ImportState, ImportView, Sluice } from '@sluice/client'
import { limits } from '@sluice/contract/limits'
import { countRows } from './file-rows.ts'
import { describePause } from './import-text.ts'
import { openLine, type Progress } from './progress.ts'
import { count } from './text.ts'

/**
 * Waits until an import of `file`, which is uploaded, has ended or is held, and returns it. Prints its ID at once on
 * stderr, and on a terminal how far it is. Ctrl-C ends only the waiting: it prints how to find and to cancel the import
 * with `program`, and ends the process with exit code 130.
 */
export async function watchImport(
  client: Sluice,
  importId: string,
  { file, program }: { file: string; program: string },
): Promise<ImportView> {
  process.stderr.write(`Import ${importId}\n`)
  const line = openLine()
  const leave = () => {
    line.end()
    process.stderr.write(`The import runs on. To see it:  ${program} show ${importId} --token TOKEN\n`)
    process.stderr.write(`To cancel it: ${program} cancel ${importId} --token TOKEN\n`)
    process.exit(130)
  }
  const watch = new Watch(client, file)
  process.once('SIGINT', leave)
  try {
    return await client.waitForImport(importId, {
      isUploaded: true,
      onProgress(now) {
        if (now.phase !== 'processing' || !process.stderr.isTTY) return
        const progress = watch.describe(now.view)
        if (now.view.finished_at === null && now.view.state !== 'held') line.show(progress)
        else line.end(progress)
      },
    })
  } finally {
    process.removeListener('SIGINT', leave)
    watch.close()
  }
}

/** What a terminal shows of an import, apart from its view. */
class Watch {
  readonly #client: Sluice
  readonly #closed = new AbortController()
  /** Number of rows of the file; undefined until they are counted. Counting a large file takes seconds. */
  #rows: number | undefined
  /** Undefined until the API has told. */
  #preceding: readonly ImportView[] | undefined
  #asked: Promise<void> | undefined
  /** When the import was last seen waiting, or first seen. */
  #startedAt = performance.now()
  /** Number of rows that were read before that. */
  #rowsBefore = 0
  #rowsSeen = 0

  constructor(client: Sluice, file: string) {
    this.#client = client
    if (!process.stderr.isTTY) return
    countRows(file, this.#closed.signal).then(
      (rows) => {
        this.#rows = rows
      },
      () => {}, // The import reports a damaged file.
    )
  }

  describe(view: ImportView): Progress {
    if (view.state === 'queued' || view.state === 'awaiting_upload') return this.#describeWaiting(view)
    // The file is read again after its check.
    if (view.rows_total < this.#rowsSeen) [this.#startedAt, this.#rowsBefore] = [performance.now(), 0]
    this.#rowsSeen = view.rows_total
    const seconds = Math.max(1, (performance.now() - this.#startedAt) / 1_000)
    const share = this.#rows === undefined ? undefined : Math.min(1, view.rows_total / Math.max(1, this.#rows))
    const facts = [
      `${count(view.rows_total)} ${view.rows_total === 1 ? 'row' : 'rows'}`,
      `${count(Math.round((view.rows_total - this.#rowsBefore) / seconds))} rows/s`,
      `${count(view.rows_failed)} with errors`,
    ]
    const isRunning = view.state === 'processing'
    const isRead = view.state === 'completed' || view.state === 'held'
    return { label: isRunning ? 'Importing' : view.state, share: isRead ? 1 : share, facts }
  }

  #describeWaiting(view: ImportView): Progress {
    this.#startedAt = performance.now()
    this.#rowsBefore = view.rows_total
    if (view.paused) return { label: describePause(view), facts: [] }
    this.#asked ??= findPreceding(this.#client, view)
      .then((preceding) => {
        this.#preceding = preceding
      })
      .catch(() => {}) // Without them, the line says less.
      .finally(() => {
        this.#asked = undefined
      })
    return { label: describeQueue(view, this.#preceding), facts: [] }
  }

  close(): void {
    this.#closed.abort()
  }
}

/** What an import does that has not ended, while another one waits for it. */
const activities: Readonly<Partial<Record<ImportState, string>>> = {
  awaiting_upload: 'has no file yet',
  queued: 'waits for a worker',
  processing: 'is running',
  held: 'is held for approval',
}

/** Returns why an import waits that is not paused. The last of the imports that precede it runs next. */
function describeQueue({ state }: ImportView, preceding: readonly ImportView[] | undefined): string {
  const next = preceding?.at(-1)
  if (!preceding || !next) return preceding && state === 'queued' ? 'queued, waits for a worker' : 'queued'
  const behind = preceding.length === 1 ? '1 import, which' : `${count(preceding.length)} imports, the first of which`
  return `queued behind ${behind} ${activities[next.state]}`
}

/**
 * Returns the imports of the newest page that precede an import in its order, newest first: dry runs have an order of
 * their own.
 */
async function findPreceding(client: Sluice, view: ImportView): Promise<ImportView[]> {
  const preceding: ImportView[] = []
  let listed = 0
  let isFound = false
  for await (const each of client.imports()) {
    if (isFound && each.finished_at === null && each.dry_run === view.dry_run) preceding.push(each)
    isFound ||= each.import_id === view.import_id
    if (++listed === limits.importsPerPage) break
  }
  return preceding
}
