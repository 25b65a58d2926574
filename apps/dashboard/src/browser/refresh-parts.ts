// Refreshes the part of a page that has the attribute `data-refresh` (an interval in ms; 0 ends it): fetches the page
// again, and replaces the part.
import { fetchPage } from './fetch-page.ts'
import { showLocalTimes } from './local-times.ts'

async function refresh(part: HTMLElement): Promise<void> {
  const fresh = (await fetchPage())?.querySelector<HTMLElement>('[data-refresh]')
  if (fresh == null) return // the server fails: the part stays as it is
  showLocalTimes(fresh)
  for (const { id } of part.querySelectorAll('details[open][id]'))
    fresh.querySelector(`#${id}`)?.setAttribute('open', '')
  // Replacing only the children keeps focus and scroll positions in the rest of the page.
  part.replaceChildren(...fresh.childNodes)
  part.dataset.refresh = fresh.dataset.refresh
}

for (const part of document.querySelectorAll<HTMLElement>('[data-refresh]')) {
  const timer = setInterval(() => {
    if (part.dataset.refresh === '0') return clearInterval(timer)
    // Hidden pages need no refresh, and a part that has the focus must not be replaced.
    if (document.hidden || part.contains(document.activeElement)) return
    refresh(part).catch(() => {})
  }, Number(part.dataset.refresh))
}
