import { showLocalTimes } from './local-times.ts'

// Keeps an import's page up to date by server-sent events. Nothing is heard while nobody looks: a browser has few connections to a
// server, and every tab would hold one.
const page = document.querySelector<HTMLElement>('[data-events]')
let source: EventSource | undefined
let ended = false

/** After the server has refused the stream, ms: it has as many as it takes. Meanwhile the page is fetched as a whole. */
const pause = 5_000

function open(): void {
  const address = page?.dataset.events
  if (address === undefined || ended || document.hidden || source !== undefined) return
  const stream = new EventSource(address)
  source = stream
  stream.addEventListener('parts', ({ data }: MessageEvent<string>) => show(JSON.parse(data)))
  stream.addEventListener('ended', () => {
    ended = true
    close()
  })
  stream.addEventListener('error', () => {
    if (stream.readyState !== EventSource.CLOSED) return // it opens itself again
    close()
    reload()
      .catch(() => {}) // the server is away: what is there stays
      .finally(() => setTimeout(open, pause))
  })
}

/** Replaces the parts by those of the page as it is now. */
async function reload(): Promise<void> {
  const answer = await fetch(location.href, { headers: { Accept: 'text/html' } })
  if (!answer.ok || answer.redirected) return
  const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
  const parts = [...fresh.querySelectorAll<HTMLElement>('[data-part]')]
  show(Object.fromEntries(parts.map((part) => [part.dataset.part ?? '', part.innerHTML])))
  ended = fresh.querySelector('[data-events]') === null
}

function close(): void {
  source?.close()
  source = undefined
}

/** Puts in the parts that changed; the server has escaped all that is in them. */
function show(parts: Record<string, string>): void {
  for (const [name, content] of Object.entries(parts)) {
    const part = page?.querySelector(`[data-part="${name}"]`)
    if (part == null) continue
    part.innerHTML = content
    showLocalTimes(part)
  }
}

document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()))
open()
