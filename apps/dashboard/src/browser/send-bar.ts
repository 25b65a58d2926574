import type { Refusal } from './column-check.ts'
import { cut, element, numberOf } from './elements.ts'

// The bar with the buttons that send a file. It stays in view, and says what an import would do.

/** What an import of a file would do, as far as its first rows tell. */
export interface Outcome {
  /** Number of rows, in words. */
  rows: string
  columns: number
  newKeys: number
  warnings: number
  /** Moves the focus to the next column with a warning. */
  goToNextWarning: () => void
}

/** Shows what an import would do, if anything is known of it, and why it would refuse the file. */
export function showOutcome(outcome: Outcome | undefined, refusals: readonly Refusal[] = []): void {
  const list = document.querySelector('[data-refusals]')
  const items = refusals.map(({ message, remedy }) => {
    const reason = element('strong', {}, cut(message, 500))
    return element('li', {}, reason, ...(remedy === '' ? [] : [`. ${remedy}`]))
  })
  replaceIfChanged(list, items)
  replaceIfChanged(document.querySelector('[data-summary]'), outcome === undefined ? [] : summary(outcome))
  updateButtons()
}

/** Disables the buttons while a file is sent, and as long as the page knows that an import would refuse the file. */
export function updateButtons(): void {
  const isOff = document.querySelector('[data-refusals] > *, [data-sending]:not([hidden])') !== null
  for (const button of document.querySelectorAll<HTMLButtonElement>('[data-send]')) button.disabled = isOff
}

function summary({ rows, columns, newKeys, warnings, goToNextWarning }: Outcome): (Node | string)[] {
  const next = element('button', { type: 'button', class: 'quiet' }, counted(warnings, 'warning'))
  next.addEventListener('click', goToNextWarning)
  return [
    `${rows}, ${counted(columns, 'column')}, `,
    newKeys === 0 ? 'no new key' : element('strong', {}, `${counted(newKeys, 'new key')}, final`),
    ...(warnings === 0 ? [] : [' · ', next]),
  ]
}

/** Screen readers announce each replacement of a live part. */
function replaceIfChanged(part: Element | null, content: (Node | string)[]): void {
  const text = content.map((each) => (typeof each === 'string' ? each : each.textContent)).join('')
  if (part !== null && part.textContent !== text) part.replaceChildren(...content)
}

function counted(count: number, noun: string): string {
  return `${numberOf(count)} ${noun}${count === 1 ? '' : 's'}`
}

/** Asks whether new keys become final with types that may be wrong. Resolves to the answer. */
export async function confirmTypes(warnings: readonly string[]): Promise<boolean> {
  const list = element('ul', {}, ...warnings.slice(0, shownWarnings).map((warning) => element('li', {}, warning)))
  const further = warnings.length - shownWarnings
  if (further > 0) list.append(element('li', {}, `… and ${numberOf(further)} more`))
  const form = element(
    'form',
    { method: 'dialog', class: 'actions' },
    element('button', { value: '' }, 'Back to the columns'),
    element('button', { value: 'import', class: 'main' }, 'Import with these types'),
  )
  const dialog = element(
    'dialog',
    { class: 'card', 'aria-labelledby': 'final-types' },
    element('h2', { id: 'final-types' }, 'Types that may be wrong become final'),
    list,
    form,
  ) as HTMLDialogElement
  document.body.append(dialog)
  dialog.showModal()
  await new Promise((resolve) => dialog.addEventListener('close', resolve, { once: true }))
  dialog.remove()
  return dialog.returnValue === 'import'
}

/** Maximum number of warnings that the question lists. */
const shownWarnings = 5
