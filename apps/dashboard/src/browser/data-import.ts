import { type Keys, lookAtColumns } from './column-check.ts'
import { readPreview } from './csv-preview.ts'
import { readStart } from './file-start.ts'
import { previewView } from './preview-view.ts'

// The data import page: a look at the file before it is sent, dropping it, and progress while it is sent. Without this script
// the form sends the file by itself.

/** Rows that types are inferred from: as many as the import itself looks at, unless it was told another number. */
const sampleRows = 1_000

const form = document.querySelector<HTMLFormElement>('[data-upload]')
if (form !== null) enliven(form)

function enliven(form: HTMLFormElement): void {
  const input = form.querySelector<HTMLInputElement>('input[type="file"]')
  const drop = form.querySelector<HTMLElement>('[data-drop]')
  if (input === null || drop === null) return
  const keys: Keys = JSON.parse(form.dataset.keys ?? '{}')
  const limit = Number(form.dataset.limit)
  show('[data-drop-hint]', true)

  input.addEventListener('change', () => void preview(input.files?.[0], keys, limit))
  for (const event of ['dragenter', 'dragover']) {
    drop.addEventListener(event, (dragged) => {
      dragged.preventDefault()
      drop.classList.add('over')
    })
  }
  for (const event of ['dragleave', 'drop']) drop.addEventListener(event, () => drop.classList.remove('over'))
  drop.addEventListener('drop', (dropped) => {
    dropped.preventDefault()
    const files = dropped.dataTransfer?.files
    if (files === undefined || files.length === 0) return
    input.files = files
    void preview(files[0], keys, limit)
  })
  form.addEventListener('submit', (submitted) => {
    const file = input.files?.[0]
    if (file === undefined) return
    submitted.preventDefault()
    if (file.size > limit) return
    send(form, submitted.submitter)
  })
}

let looks = 0

/** Shows what can be seen of a file. */
async function preview(file: File | undefined, keys: Keys, limit: number): Promise<void> {
  const look = ++looks
  const place = document.querySelector('[data-preview]')
  place?.replaceChildren()
  tell(undefined)
  if (file === undefined) return
  if (file.size > limit) {
    tell(
      `The file has ${(file.size / 2 ** 20).toFixed(1)} MB, more than the ${limit / 2 ** 20} MB that can be uploaded here.`,
    )
    return
  }
  try {
    const { text, isWhole } = await readStart(file)
    const found = readPreview(text, isWhole, sampleRows)
    if (look !== looks) return // another file was chosen meanwhile
    if (found === undefined) {
      tell('The file has no rows.')
      return
    }
    const { columns, problems } = lookAtColumns(found, keys)
    place?.replaceChildren(...previewView(file.name, found, columns, problems))
  } catch {
    if (look === looks) tell('The file cannot be read. If it is compressed, it is damaged.')
  }
}

/** Sends the form with its file, shows how far that is, and goes to the import's page. */
function send(form: HTMLFormElement, button: HTMLElement | null): void {
  const request = new XMLHttpRequest()
  const bar = form.querySelector<HTMLProgressElement>('[data-sending] progress')
  const controls = form.querySelectorAll<HTMLButtonElement | HTMLInputElement>(
    '.actions > button:not([data-stop]), input',
  )
  const stop = form.querySelector<HTMLButtonElement>('[data-stop]')
  const lock = (locked: boolean) => {
    for (const control of controls) control.disabled = locked
    show('[data-sending]', locked)
  }
  const started = performance.now()
  request.upload.addEventListener('progress', ({ loaded, total }) => {
    if (bar !== null) bar.value = (loaded / total) * 100
    const speed = loaded / 2 ** 20 / ((performance.now() - started) / 1000)
    write('[data-percent]', `${Math.floor((loaded / total) * 100)} %`)
    write('[data-status]', loaded < total ? `Uploading, ${speed.toFixed(1)} MB a second` : 'The file is being stored')
  })
  request.addEventListener('load', () => {
    if (request.status === 200) location.assign(request.responseURL)
    else {
      lock(false)
      tell(problemOf(request.status))
    }
  })
  request.addEventListener('error', () => {
    lock(false)
    tell('The upload broke off. Nothing was imported.')
  })
  request.addEventListener('abort', () => lock(false))
  stop?.addEventListener('click', () => request.abort(), { once: true })
  request.open('POST', button?.getAttribute('formaction') ?? form.action)
  const body = new FormData(form)
  const file = body.get('file')
  if (file instanceof File) body.set('byte_size', String(file.size))
  tell(undefined)
  lock(true)
  request.send(body)
}

function problemOf(status: number): string {
  if (status === 413) return 'The file is too large. Nothing was imported.'
  if (status === 403) return 'This page is too old: load it again, and choose the file once more.'
  if (status === 503) return 'Too many files are being uploaded at the moment. Please try again in a minute.'
  return 'The file could not be taken. Nothing was imported.'
}

/** Says what is wrong; undefined for nothing. */
function tell(problem: string | undefined): void {
  write('[data-problem]', problem ?? '')
  show('[data-problem]', problem !== undefined)
}

function write(selector: string, text: string): void {
  const element = document.querySelector(selector)
  if (element !== null) element.textContent = text
}

function show(selector: string, isShown: boolean): void {
  const element = document.querySelector<HTMLElement>(selector)
  if (element !== null) element.hidden = !isShown
}
