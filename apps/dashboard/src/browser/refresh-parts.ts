// Refreshes the parts of a page that have the attribute `data-refresh` (an interval in ms): fetches the page again, and
// replaces the parts.
import { showLocalTimes } from './local-times.ts'

async function refresh(part: HTMLElement): Promise<void> {
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
  // If the visitor was signed out or the server fails, the part stays as it is.
  if (!answer.ok || answer.redirected) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const fresh = page.querySelector('[data-refresh]')
  if (fresh === null) return
  showLocalTimes(fresh)
  // Replacing only the children keeps focus and scroll positions outside of them.
  part.replaceChildren(...fresh.childNodes)
}

for (const part of document.querySelectorAll<HTMLElement>('[data-refresh]')) {
  setInterval(() => {
    // Hidden pages need no refresh, and a part that has the focus must not be replaced.
    if (document.hidden || part.contains(document.activeElement)) return
    refresh(part).catch(() => {})
  }, Number(part.dataset.refresh))
}
