import { type ChosenFile, RefusedFile, readChosenFile } from './chosen-file.ts'
import type { ImportRules } from './column-check.ts'
import { needsConversion } from './conversion/plan.ts'
import { show, showProblem, write } from './elements.ts'
import { clearView, FileView } from './file-view.ts'
import { checkInWorker, convertInWorker, TaskFailed } from './run-file-task.ts'
import { showOutcome } from './send-bar.ts'
import { Sending, upload } from './upload.ts'

// The data import page: previews the file, converts it if an import could not read it, accepts it by drag and drop, and
// shows the progress of the upload. Without this script, the browser submits the form by itself.

const form = document.querySelector<HTMLFormElement>('[data-upload]')
if (form !== null) enhance(form)

function enhance(form: HTMLFormElement): void {
  const input = form.querySelector<HTMLInputElement>('input[type="file"]')
  const drop = form.querySelector<HTMLElement>('[data-drop]')
  if (input === null || drop === null) return
  const options = form.querySelector<HTMLElement>('[data-options]')
  const marker = form.querySelector<HTMLInputElement>('[name=clear_marker]')
  const rules = (): Rules => ({
    keys: JSON.parse(form.dataset.keys ?? '{}'),
    newKeys: form.dataset.newKeys === 'refuse' ? 'refuse' : 'register',
    clearMarker: marker?.value ?? '',
  })
  const limitBytes = Number(form.dataset.limit)
  show('[data-drop-hint]', true)
  // The server reads the fields before the file only. The script can send the file last, wherever the fields are.
  if (options !== null) document.querySelector('[data-columns]')?.after(options)
  // The page converts these files, or says what to do with them.
  input.accept += ',.tsv,.tab,.txt,.xlsx,.xls,.ods,text/tab-separated-values,text/plain'

  let reading: Reading | undefined
  const choose = (file: File | undefined) => {
    reading?.stop()
    reading = file === undefined ? undefined : openReading(file, form, rules, limitBytes)
    if (file === undefined) clearView()
  }
  input.addEventListener('change', () => choose(input.files?.[0]))
  options?.addEventListener('input', () => reading?.view?.showResult())
  options?.addEventListener('invalid', unfold, { capture: true })
  acceptDrops(drop, (files) => {
    input.files = files
    choose(files[0])
  })
  form.addEventListener('submit', (submitted) => {
    const file = input.files?.[0]
    if (file === undefined) return
    submitted.preventDefault()
    if (reading?.file !== file) {
      choose(file)
      showProblem('The file was not read yet. Check how it is read, then send it. Nothing was sent.')
      return
    }
    void send(form, reading, { button: submitted.submitter, limitBytes, clearMarker: marker?.value ?? '' })
  })
  // If a person goes back to the page, the browser keeps the chosen file, or restores it when it shows the page.
  const restore = () => {
    const file = input.files?.[0]
    if (file !== reading?.file) choose(file)
  }
  restore()
  window.addEventListener('pageshow', restore)
}

/** Opens folded options with a wrong number: the browser says what is wrong only where it can be seen. */
function unfold({ currentTarget }: Event): void {
  if (currentTarget instanceof HTMLDetailsElement) currentTarget.open = true
}

type Rules = Omit<ImportRules, 'declared'>

function acceptDrops(drop: HTMLElement, onFiles: (files: FileList) => void): void {
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
    if (files !== undefined && files.length > 0) onFiles(files)
  })
}

/** A file that was chosen. It is read in the background. */
interface Reading {
  file: File
  /** Resolves when the file has been read: to whether it is no file that can be imported. */
  isRefused: Promise<boolean>
  /** What the page shows of the file, when it has been read. */
  view: FileView | undefined
  stop(): void
}

/** Begins to read a file, and shows it or its problem. */
function openReading(file: File, form: HTMLFormElement, rules: () => Rules, limitBytes: number): Reading {
  const stopped = new AbortController()
  const { signal } = stopped
  clearView()
  showProblem(undefined)
  if (file.size > limitBytes) {
    const size = `${(file.size / 2 ** 20).toFixed(1)} MB`
    const message = `The file has ${size}, more than the ${limitBytes / 2 ** 20} MB that can be uploaded here`
    showOutcome(undefined, [{ message, remedy: 'Compress it with gzip, or split it.' }])
    return { file, isRefused: Promise.resolve(true), view: undefined, stop: () => {} }
  }
  const onProgress = (share: number) => write('[data-reading]', `Reading the file, ${Math.floor(share * 100)} %`)
  const findOtherText = ({ kind }: ChosenFile['start']) => checkInWorker({ file, kind }, { onProgress, signal })
  const read = async () => {
    try {
      const chosen = await readChosenFile(file, findOtherText, navigator.languages)
      if (!signal.aborted) reading.view = new FileView(chosen, form, rules)
    } catch (error) {
      if (signal.aborted) return false
      clearView()
      showOutcome(undefined, [error instanceof RefusedFile ? { message: error.message, remedy: '' } : unreadable])
      return true
    }
    return false
  }
  const reading: Reading = { file, isRefused: read(), view: undefined, stop: () => stopped.abort() }
  return reading
}

const unreadable = {
  message: 'The file cannot be read',
  remedy: 'If it is compressed, it is damaged: compress it again, or choose the file that is not compressed.',
}

interface SendOptions {
  /** The button that was pressed. */
  button: HTMLElement | null
  limitBytes: number
  clearMarker: string
}

/** Converts a file if necessary, and sends it with the form. */
async function send(form: HTMLFormElement, reading: Reading, options: SendOptions): Promise<void> {
  const body = new FormData(form)
  const isSeen = reading.view !== undefined
  const sending = new Sending()
  try {
    const isRefused = await reading.isRefused
    const { view } = reading
    if (isRefused || view?.isRefused) return sending.end()
    sending.signal.throwIfAborted()
    if (!isSeen && view?.chosen.evidence === 'guess')
      return sending.end('The file is not UTF-8. Check the encoding, then send the file. Nothing was sent.')
    const isDryRun = options.button?.hasAttribute('formaction') === true
    if (view !== undefined && !isDryRun && !(await view.acceptsTypes())) return sending.end()
    const file = view === undefined ? reading.file : await convertIfNeeded(view, options, sending)
    await view?.keepMapping()
    sending.signal.throwIfAborted()
    body.set('byte_size', String(file.size))
    body.set('profile_types', JSON.stringify(view?.types ?? {}))
    body.delete('file')
    body.append('file', file, reading.file.name)
    upload(options.button?.getAttribute('formaction') ?? form.action, body, sending)
  } catch (error) {
    if (sending.signal.aborted) return sending.end()
    sending.end(error instanceof TaskFailed ? error.message : 'The file could not be sent. Nothing was imported.')
    if (!(error instanceof TaskFailed)) throw error
  }
}

/** Returns the file itself if an import can read it, and otherwise the converted file. */
async function convertIfNeeded({ chosen }: FileView, options: SendOptions, sending: Sending): Promise<Blob> {
  const { file, start } = chosen
  const plan = chosen.plan(options.clearMarker)
  if (!needsConversion(plan)) return file
  const onProgress = (share: number) => sending.showProgress('Converting the file', share)
  const control = { onProgress, signal: sending.signal }
  onProgress(0)
  return await convertInWorker({ file, kind: start.kind }, { plan, limitBytes: options.limitBytes }, control)
}
