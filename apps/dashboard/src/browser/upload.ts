import { show, showProblem, write } from './elements.ts'

/**
 * Shows what happens to a file from the click on the button to the page of its import. Lets a person stop the sending.
 */
export class Sending {
  readonly #form: HTMLFormElement
  readonly #stop = new AbortController()

  /** Locks the form. */
  constructor(form: HTMLFormElement) {
    this.#form = form
    const stop = form.querySelector<HTMLButtonElement>('[data-stop]')
    stop?.addEventListener('click', () => this.#stop.abort(), { once: true, signal: this.#stop.signal })
    showProblem(undefined)
    this.#lock(true)
  }

  /** Aborts when the person stops the sending. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /** Shows a step and its progress, 0 to 1. */
  showProgress(status: string, share: number): void {
    const bar = this.#form.querySelector<HTMLProgressElement>('[data-sending] progress')
    if (bar !== null) bar.value = share * 100
    write('[data-percent]', `${Math.floor(share * 100)} %`)
    write('[data-status]', status)
  }

  /** Unlocks the form. */
  end(problem?: string): void {
    this.#lock(false)
    if (problem !== undefined) showProblem(problem)
  }

  #lock(isLocked: boolean): void {
    const controls = this.#form.querySelectorAll<HTMLButtonElement | HTMLInputElement>(
      '.actions > button:not([data-stop]), input',
    )
    for (const control of controls) control.disabled = isLocked
    show('[data-sending]', isLocked)
  }
}

/** Sends a form with its file, shows the progress, and opens the import's page. */
export function upload(address: string, body: FormData, sending: Sending): void {
  const request = new XMLHttpRequest()
  const started = performance.now()
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    const speed = loaded / 2 ** 20 / ((performance.now() - started) / 1000)
    const status = loaded < total ? `Uploading, ${speed.toFixed(1)} MB a second` : 'The file is being stored'
    sending.showProgress(status, loaded / total)
  })
  request.addEventListener('load', () => {
    if (request.status === 200) location.assign(request.responseURL)
    else sending.end(problemOf(request.status))
  })
  request.addEventListener('error', () => sending.end('The upload was interrupted. Nothing was imported.'))
  request.addEventListener('abort', () => sending.end())
  sending.signal.addEventListener('abort', () => request.abort(), { once: true })
  request.open('POST', address)
  request.send(body)
}

function problemOf(status: number): string {
  if (status === 400) return 'A chosen type or the text that removes a value is refused. Nothing was imported.'
  if (status === 413) return 'The file is too large. Nothing was imported.'
  if (status === 403) return 'This page is too old: reload it, and choose the file again.'
  if (status === 503) return 'Too many files are being uploaded at the moment. Please try again in a minute.'
  return 'The file could not be uploaded. Nothing was imported.'
}
