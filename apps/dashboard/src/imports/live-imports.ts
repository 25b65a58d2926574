import { sql } from '@sluice/database'
import type { DashboardContext } from '../context.ts'
import { hasEnded } from './import-page.ts'
import { type Parts, partNames, partsOf } from './page-parts.ts'
import { type Snapshot, takeSnapshot } from './snapshot.ts'

/** How often what is watched is looked at, ms. */
const interval = 1_000

/** Hears of an import: the parts whose HTML is another one, by name; `ended` when nothing will change any more. */
type Watcher = (changed: Texts, ended: boolean) => void

/** Parts as HTML texts. */
type Texts = Partial<Record<keyof Parts, string>>

interface Watched {
  appId: number
  watchers: Set<Watcher>
  snapshot: Snapshot | undefined
  /** As they were sent last. */
  parts: Texts
  /** What the import's row said when they were made. */
  version: string
}

/** Keeps pages of imports up to date, whichever process runs the imports: one look at Postgres a second for all of them. */
export interface LiveImports {
  /**
   * Tells a watcher all parts at the next look and then what changes. Returns how to stop that; undefined after the end.
   */
  watch(appId: number, importId: string, watcher: Watcher): (() => void) | undefined
  /** Ends: nobody is told anything any more. */
  close(): void
}

type Context = Pick<DashboardContext, 'db' | 'storage' | 'apiUrl' | 'log'>

/** Opens it; nothing is asked for as long as nobody watches. */
export function openLiveImports(context: Context): LiveImports {
  const watched = new Map<string, Watched>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const schedule = () => {
    if (timer !== undefined || watched.size === 0 || closed) return
    timer = setTimeout(async () => {
      await look(context, watched).catch((error: unknown) => context.log.warn({ err: error }, 'imports not looked at'))
      timer = undefined
      schedule()
    }, interval)
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

/** Looks at all watched imports once, and tells who watches those that changed. */
async function look(context: Context, watched: Map<string, Watched>): Promise<void> {
  const versions = await readVersions(context, [...watched.keys()])
  for (const [importId, entry] of watched) {
    const version = versions.get(importId)
    // One that waits may have another reason now, which is not in its own row.
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

/** What an import's row says of it, as one text that changes when anything of it does. */
async function readVersions({ db }: Context, importIds: string[]): Promise<Map<string, string>> {
  const { rows } = await sql<{ import_id: string; version: string }>`
    /* prepared */
    select import_id, concat_ws(' ', state, attempt, rows_total, report_due, retry_at, finished_at) as version
    from imports where import_id = any(${importIds}::uuid[])
  `.execute(db)
  return new Map(rows.map((row) => [row.import_id, row.version]))
}
