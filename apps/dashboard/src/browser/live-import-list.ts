import { showLocalTimes } from './local-times.ts'

// Keeps the list of imports up to date while some of them move: asks for the page again, and takes the table out of it.

/** ms */
const interval = 3_000

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
  setTimeout(() => void refresh(), interval)
}

setTimeout(() => void refresh(), interval)
