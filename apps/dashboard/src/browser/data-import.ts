import { checkColumns, type ImportRules } from './column-check.ts'
import { readPreview } from './csv-preview.ts'
import { readStart } from './file-start.ts'
import { type Choices, previewView } from './preview-view.ts'

// The data import page: previews the file, accepts it by drag and drop, and shows the progress of the upload. Without
// this script, the browser submits the form by itself.

/** The number of rows from which types are inferred: the default of the import's setting `INFERENCE_ROWS`. */
const sampleRows = 1_000

const form = document.querySelector<HTMLFormElement>('[data-upload]')
if (form !== null) enhance(form)

function enhance(form: HTMLFormElement): void {
  const input = form.querySelector<HTMLInputElement>('input[type="file"]')
  const drop = form.querySelector<HTMLElement>('[data-drop]')
  if (input === null || drop === null) return
  const marker = form.querySelector<HTMLInputElement>('[name=clear_marker]')
  const rules = (): ImportRules => ({
    keys: JSON.parse(form.dataset.keys ?? '{}'),
    newKeys: form.dataset.newKeys === 'refuse' ? 'refuse' : 'register',
    clearMarker: marker?.value ?? '',
  })
  const limitBytes = Number(form.dataset.limit)
  show('[data-drop-hint]', true)

  const chosen: Choices = new Map()
  const previewAgain = (file: File | undefined) => void preview(file, rules(), chosen, limitBytes)
  const previewAnother = (file: File | undefined) => {
    chosen.clear()
    previewAgain(file)
  }
  input.addEventListener('change', () => previewAnother(input.files?.[0]))
  marker?.addEventListener('input', () => previewAgain(input.files?.[0]))
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
    previewAnother(files[0])
  })
  form.addEventListener('submit', (submitted) => {
    const file = input.files?.[0]
    if (file === undefined) return
    submitted.preventDefault()
    if (file.size > limitBytes) return
    send(form, chosen, submitted.submitter)
  })
}

let lastPreview = 0

/** Shows a preview of a file and its problems. */
async function preview(file: File | undefined, rules: ImportRules, chosen: Choices, limitBytes: number): Promise<void> {
  const number = ++lastPreview
  const container = document.querySelector('[data-preview]')
  container?.replaceChildren()
  showProblem(undefined)
  if (file === undefined) return
  if (file.size > limitBytes) {
    showProblem(
      `The file has ${(file.size / 2 ** 20).toFixed(1)} MB, more than the ${limitBytes / 2 ** 20} MB that can be uploaded here.`,
    )
    return
  }
  try {
    const { text, isWhole } = await readStart(file)
    const found = readPreview(text, isWhole, sampleRows)
    if (number !== lastPreview) return // another file was chosen meanwhile
    if (found === undefined) {
      showProblem('The file has no rows.')
      return
    }
    const checked = checkColumns(found, rules)
    container?.replaceChildren(...previewView(file.name, found, checked, rules.newKeys, chosen))
  } catch {
    if (number === lastPreview) showProblem('The file cannot be read. If it is compressed, it is damaged.')
  }
}

/** Sends the form with its file, shows the progress, and opens the import's page. */
function send(form: HTMLFormElement, chosen: Choices, button: HTMLElement | null): void {
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
      showProblem(problemOf(request.status))
    }
  })
  request.addEventListener('error', () => {
    lock(false)
    showProblem('The upload was interrupted. Nothing was imported.')
  })
  request.addEventListener('abort', () => lock(false))
  stop?.addEventListener('click', () => request.abort(), { once: true })
  request.open('POST', button?.getAttribute('formaction') ?? form.action)
  const body = new FormData(form)
  const file = body.get('file')
  if (file instanceof File) body.set('byte_size', String(file.size))
  body.set('profile_types', JSON.stringify(Object.fromEntries(chosen)))
  showProblem(undefined)
  lock(true)
  request.send(body)
}

function problemOf(status: number): string {
  if (status === 400) return 'A chosen type or the text that removes a value is refused. Nothing was imported.'
  if (status === 413) return 'The file is too large. Nothing was imported.'
  if (status === 403) return 'This page is too old: reload it, and choose the file again.'
  if (status === 503) return 'Too many files are being uploaded at the moment. Please try again in a minute.'
  return 'The file could not be uploaded. Nothing was imported.'
}

/** Shows a problem, or hides the last one if `problem` is undefined. */
function showProblem(problem: string | undefined): void {
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
