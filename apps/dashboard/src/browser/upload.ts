import { element, show, showProblem, write } from './elements.ts'
import { updateButtons } from './send-bar.ts'

/** The share of the work after which screen readers announce the progress again. */
const announcedShare = 0.25

/**
 * Shows what happens to a file from the click on the button to the page of its import. Lets a person stop the sending.
 */
export class Sending {
  readonly #stop = new AbortController()

  /** Locks the page. From now on, the browser asks before it leaves the page. */
  constructor() {
    const stop = document.querySelector('[data-stop]')
    stop?.addEventListener('click', () => this.#stop.abort(), { once: true, signal: this.#stop.signal })
    window.addEventListener('beforeunload', askBeforeLeaving)
    showProblem(undefined)
    this.#lock(true)
  }

  /** Aborts when the person stops the sending. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Shows a step and its progress, 0 to 1. `speed` is shown as well, if it is known. */
  showProgress(step: string, share: number, speed?: string): void {
    const bar = document.querySelector<HTMLProgressElement>('[data-sending] progress')
    if (bar !== null) bar.value = share * 100
    write('[data-percent]', `${Math.floor(share * 100)} %`)
    write('[data-status]', speed === undefined ? step : `${step}, ${speed}`)
    const announced = Math.floor(share / announcedShare) * announcedShare
    write('[data-announced]', `${step}, ${announced * 100} %`)
  }

  /** Unlocks the page, and shows the problem. `held` is the address of a held import that is to blame. */
  end(problem?: string, held?: string): void {
    this.leave()
    this.#lock(false)
    if (problem !== undefined) showProblem(problem)
    if (held !== undefined)
      document.querySelector('[data-problem]')?.append(' ', element('a', { href: held }, 'See the held import'))
  }

  /** Lets the browser leave the page without a question. */
  leave(): void {
    window.removeEventListener('beforeunload', askBeforeLeaving)
  }

  /** Nothing can be changed while the file is sent. */
  #lock(isLocked: boolean): void {
    for (const part of document.querySelectorAll<HTMLElement>('[data-step]')) part.inert = isLocked
    show('[data-sending]', isLocked)
    updateButtons()
  }
}

function askBeforeLeaving(event: BeforeUnloadEvent): void {
  event.preventDefault()
}

/** Sends a form with its file, shows the progress, and opens the import's page. */
export function upload(address: string, body: FormData, sending: Sending): void {
  const request = new XMLHttpRequest()
  const started = performance.now()
  let isSent = false
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    const speed = loaded / 2 ** 20 / ((performance.now() - started) / 1000)
    if (loaded < total) sending.showProgress('Uploading', loaded / total, `${speed.toFixed(1)} MB a second`)
    else sending.showProgress('The file is being stored', 1)
  })
  request.upload.addEventListener('load', () => {
    isSent = true
  })
  request.addEventListener('load', () => {
    const page = request.getResponseHeader('Location')
    if (request.status !== 201 || page === null) {
      const { reason = problemOf(request.status), held } = refusalIn(request.responseText)
      return sending.end(reason, held)
    }
    sending.leave()
    // The browser may keep this page as it is, and show it again when the person goes back.
    window.addEventListener('pageshow', () => sending.end(), { once: true })
    location.assign(page)
  })
  request.addEventListener('error', () =>
    sending.end(isSent ? unknownEnd : 'The upload was interrupted. Nothing was imported.'),
  )
  request.addEventListener('abort', () => sending.end())
  sending.signal.addEventListener('abort', () => request.abort(), { once: true })
  request.open('POST', address)
  request.setRequestHeader('Accept', 'application/json')
  request.send(body)
}

/** The server has the whole file, and nobody knows what became of it. */
const unknownEnd =
  'The server did not answer. The file may have been imported: look at the list of imports before you send it again.'

function problemOf(status: number): string {
  if (status === 401) return 'You are signed out. Nothing was imported. Sign in again, and choose the file again.'
  if (status === 403) return 'This page is too old. Nothing was imported. Reload it, and choose the file again.'
  if (status === 413) return 'The file is too large. Nothing was imported.'
  return status < 500 ? 'The file could not be uploaded. Nothing was imported.' : unknownEnd
}

/** Returns the reason in the answer to a refused file; nothing if the answer has none, as from a proxy. */
function refusalIn(answer: string): { reason?: string; held?: string } {
  try {
    const { status, error, held } = JSON.parse(answer)
    return status === 'refused' ? { reason: String(error.messages[0]), held } : {}
  } catch {
    return {}
  }
}
