import { prepared } from '@sluice/database'
import type { DashboardContext } from '../context.ts'
import { hasEnded } from './import-page.ts'
import { type Parts, partNames, partsOf } from './page-parts.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

/** How often watched imports are read from Postgres. */
const intervalMs = 1_000

/** Called with the parts of an import's page whose HTML has changed, by name. `ended`: nothing will change any more. */
type Watcher = (changed: Texts, ended: boolean) => void

/** Parts as HTML texts. */
type Texts = Partial<Record<keyof Parts, string>>

interface Watched {
  appId: number
  watchers: Set<Watcher>
  snapshot: Snapshot | undefined
  /** The parts that were sent last. */
  parts: Texts
  /** The version of the import's row from which `parts` were made. */
  version: string
}

/**
 * Keeps pages of imports up to date, with one query a second for all watched imports. Any process may run the imports.
 */
export interface LiveImports {
  /**
   * Calls the watcher with all parts, and then with every change. Returns a function that stops the watching, or
   * undefined after {@link close}.
   */
  watch(appId: number, importId: string, watcher: Watcher): (() => void) | undefined
  /** Stops all watching. */
  close(): void
}

type Context = Pick<DashboardContext, 'db' | 'storage' | 'apiUrl' | 'log'>

/** Opens live imports. While no import is watched, no queries are sent. */
export function openLiveImports(context: Context): LiveImports {
  const watched = new Map<string, Watched>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const schedule = () => {
    if (timer !== undefined || watched.size === 0 || closed) return
    timer = setTimeout(async () => {
      await notifyWatchers(context, watched).catch((error: unknown) =>
        context.log.warn({ err: error }, 'watched imports could not be read'),
      )
      timer = undefined
      schedule()
    }, intervalMs)
  }

  return {
    watch(appId, importId, watcher) {
      if (closed) return undefined
      const entry = watched.get(importId) ?? { appId, watchers: new Set(), snapshot: undefined, parts: {}, version: '' }
      watched.set(importId, entry)
      entry.watchers.add(watcher)
      if (entry.snapshot !== undefined) watcher(entry.parts, false)
      schedule()
      return () => {
        if (!entry.watchers.delete(watcher)) return
        if (entry.watchers.size === 0) watched.delete(importId)
      }
    },
    close() {
      closed = true
      clearTimeout(timer)
      watched.clear()
    },
  }
}

/** Reads all watched imports once, and notifies the watchers of changed imports. */
async function notifyWatchers(context: Context, watched: Map<string, Watched>): Promise<void> {
  const versions = await readVersions(context, [...watched.keys()])
  for (const [importId, entry] of watched) {
    const version = versions.get(importId)
    // The reason for which an import waits may change without a change of its own row.
    if (version === entry.version && !version.startsWith('queued')) continue
    const snapshot = await takeSnapshot(context, entry.appId, importId, entry.snapshot)
    if (snapshot === undefined) continue
    const ended = hasEnded(snapshot.details)
    const parts = partsOf(entry.appId, snapshot)
    const changed: Texts = {}
    for (const name of partNames) if (entry.parts[name] !== parts[name].text) changed[name] = parts[name].text
    Object.assign(entry, { snapshot, parts: { ...entry.parts, ...changed }, version: version ?? '' })
    if (Object.keys(changed).length > 0 || ended) for (const watcher of entry.watchers) watcher(changed, ended)
  }
}

/** For each import, returns a text that changes whenever the state or the progress in the import's row changes. */
async function readVersions({ db }: Context, importIds: string[]): Promise<Map<string, string>> {
  const { rows } = await prepared<{ import_id: string; version: string }>`
    select import_id, concat_ws(' ', state, attempt, rows_total, report_due, retry_at, finished_at) as version
    from imports where import_id = any(${importIds}::uuid[])
  `.execute(db)
  return new Map(rows.map((row) => [row.import_id, row.version]))
}
