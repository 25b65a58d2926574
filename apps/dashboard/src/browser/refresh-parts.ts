// Keeps the parts of a page fresh that say so by `data-refresh`, in ms: the page is fetched anew, and they are exchanged.
import { showLocalTimes } from './local-times.ts'

async function refresh(part: HTMLElement): Promise<void> {
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
  // Signed out meanwhile, or the server is away: what is there stays, until somebody reloads.
  if (!answer.ok || answer.redirected) return
  const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const fresh = page.querySelector('[data-refresh]')
  if (fresh === null) return
  showLocalTimes(fresh)
  // Children alone: what is focused or scrolled outside them stays so.
  part.replaceChildren(...fresh.childNodes)
}

for (const part of document.querySelectorAll<HTMLElement>('[data-refresh]')) {
  setInterval(() => {
    // Nobody looks at a hidden page, and what somebody is at is not taken away.
    if (document.hidden || part.contains(document.activeElement)) return
    refresh(part).catch(() => {})
  }, Number(part.dataset.refresh))
}
