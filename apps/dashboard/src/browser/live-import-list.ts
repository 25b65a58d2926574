import { showLocalTimes } from './local-times.ts'

// Keeps the list of imports up to date as long as an import waits or runs: fetches the page again, and replaces the
// table.

const intervalMs = 3_000

async function refresh(): Promise<void> {
  const list = document.querySelector<HTMLElement>('[data-live-list="moving"]')
  if (list === null) return
  if (!document.hidden && !list.contains(document.activeElement)) {
    const response = await fetch(location.href, { headers: { Accept: 'text/html' } }).catch(() => undefined)
    const page = response?.ok ? new DOMParser().parseFromString(await response.text(), 'text/html') : undefined
    const fresh = page?.querySelector<HTMLElement>('[data-live-list]')
    if (fresh != null) {
      showLocalTimes(fresh)
      list.replaceWith(fresh)
    }
  }
  setTimeout(() => void refresh(), intervalMs)
}

setTimeout(() => void refresh(), intervalMs)
