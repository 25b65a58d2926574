// Refreshes the parts of a page that have the attribute `data-refresh` (an interval in ms): fetches the page again, and
// replaces the parts.
import { fetchPage } from './fetch-page.ts'
import { showLocalTimes } from './local-times.ts'

async function refresh(part: HTMLElement): Promise<void> {
  const fresh = (await fetchPage())?.querySelector('[data-refresh]')
  if (fresh == null) return // the server fails: the part stays as it is
  showLocalTimes(fresh)
  // Replacing only the children keeps focus and scroll positions in the rest of the page.
  part.replaceChildren(...fresh.childNodes)
}

for (const part of document.querySelectorAll<HTMLElement>('[data-refresh]')) {
  setInterval(() => {
    // Hidden pages need no refresh, and a part that has the focus must not be replaced.
    if (document.hidden || part.contains(document.activeElement)) return
    refresh(part).catch(() => {})
  }, Number(part.dataset.refresh))
}
