import { fetchPage } from './fetch-page.ts'
import { showLocalTimes } from './local-times.ts'

// Keeps an import's page up to date by server-sent events. The stream is closed while the page is hidden: a browser has
// only a few connections to a server, and every tab would occupy one.
const page = document.querySelector<HTMLElement>('[data-events]')
let source: EventSource | undefined
let ended = false

/** The pause after the server has refused a stream because too many are open. The whole page is fetched instead. */
const pauseMs = 5_000

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
    if (stream.readyState !== EventSource.CLOSED) return // the browser reconnects by itself
    close()
    reload()
      .catch(() => {}) // the server does not answer: the page stays as it is
      .finally(() => setTimeout(open, pauseMs))
  })
}

/** Replaces the parts by the parts of a newly fetched page. */
async function reload(): Promise<void> {
  const fresh = await fetchPage()
  if (fresh === undefined) return
  const parts = [...fresh.querySelectorAll<HTMLElement>('[data-part]')]
  show(Object.fromEntries(parts.map((part) => [part.dataset.part ?? '', part.innerHTML])))
  ended = fresh.querySelector('[data-events]') === null
}

function close(): void {
  source?.close()
  source = undefined
}

/** Replaces the parts that changed. The server has escaped all text in them. */
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
