import { fetchPage } from './fetch-page.ts'
import { showLocalTimes } from './local-times.ts'

// Keeps the list of imports up to date as long as an import waits or runs: fetches the page again, and replaces the
// table.

const intervalMs = 3_000

async function refresh(): Promise<void> {
  const list = document.querySelector<HTMLElement>('[data-live-list="moving"]')
  if (list === null) return
  if (!document.hidden && !list.contains(document.activeElement)) {
    const page = await fetchPage().catch(() => undefined)
    const fresh = page?.querySelector<HTMLElement>('[data-live-list]')
    if (fresh != null) {
      showLocalTimes(fresh)
      list.replaceWith(fresh)
    }
  }
  setTimeout(() => void refresh(), intervalMs)
}

setTimeout(() => void refresh(), intervalMs)
