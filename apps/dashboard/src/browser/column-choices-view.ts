import { closeName } from '@sluice/contract/close-names'
import { userIdColumn } from '@sluice/contract/import-messages'
import type { ChosenFile } from './chosen-file.ts'
import type { Keys } from './column-check.ts'
import { type ColumnPlan, isChanged } from './conversion/plan.ts'
import { convertValue, possibleForms, type ValueForm, valueForms } from './conversion/value-forms.ts'
import { buttonOf, cut, element, numberOf, selectOf } from './elements.ts'

/** Number of columns whose choices are shown at a time. */
const shownColumns = 500

/** Maximum number of values that are shown as examples. */
const shownExamples = 2

/**
 * Creates the choices for each column of a file (second-day.md §1, Preview): its key, whether it is imported, and how
 * its values are written. The list is open if a choice was made already, or if the page has a proposal. After each
 * choice, the list updates itself and calls `onChange`.
 */
export function columnChoicesView({ columns, source }: ChosenFile, keys: Keys, onChange: () => void): HTMLElement {
  const known = new Set([userIdColumn, ...Object.keys(keys)])
  const taken = new Set(columns.map(({ key }) => key))
  const free = [...known].filter((key) => !taken.has(key))
  const itemsFrom = (start: number) =>
    columns.slice(start, start + shownColumns).map((column, index) => {
      return columnItem(column, valuesOf(source?.rows ?? [], start + index), { known, free, onChange })
    })
  const items = itemsFrom(0)
  const list = element('ul', { class: 'plain choices' }, ...items.map(({ item }) => item))
  const isOpen = columns.some(isChanged) || items.some(({ hasProposal }) => hasProposal)
  return element(
    'details',
    { class: 'card', ...(isOpen && { open: '' }) },
    element('summary', {}, 'Rename, leave out or convert columns'),
    element('datalist', { id: 'known-keys' }, ...[...known].map((name) => element('option', { value: name }))),
    element('section', { 'aria-label': 'Columns of the file' }, list),
    ...(columns.length > items.length ? [moreColumns(columns.length, list, itemsFrom)] : []),
  )
}

/** Creates the button that shows the choices of further columns. */
function moreColumns(
  count: number,
  list: HTMLElement,
  itemsFrom: (start: number) => { item: HTMLElement }[],
): HTMLElement {
  const part = element('p', { class: 'actions' })
  const update = () => {
    const left = count - list.childElementCount
    const label = `Show ${numberOf(Math.min(left, shownColumns))} more of ${numberOf(count)} columns`
    part.replaceChildren(...(left > 0 ? [buttonOf(label, show)] : []))
  }
  const show = () => {
    list.append(...itemsFrom(list.childElementCount).map(({ item }) => item))
    update()
  }
  update()
  return part
}

interface ItemContext {
  /** The keys that a column may be mapped to. */
  known: ReadonlySet<string>
  /** The known keys that no column has yet. */
  free: readonly string[]
  onChange: () => void
}

function columnItem(
  column: ColumnPlan,
  values: readonly string[],
  { known, free, onChange }: ItemContext,
): { item: HTMLElement; hasProposal: boolean } {
  const label = column.name || '(no name)'
  const proposal = known.has(column.name) ? undefined : closeName(column.name, free)
  const possible = possibleForms(values)
  const imported = element('input', { type: 'checkbox', 'aria-label': `Import ${label}` }) as HTMLInputElement
  const key = element('input', {
    ...{ type: 'text', 'aria-label': `Key of ${label}`, list: 'known-keys', autocomplete: 'off', spellcheck: 'false' },
  }) as HTMLInputElement
  const examples = element('div', { class: 'hint', 'aria-live': 'polite' })
  const forms = selectOf(`Values of ${label}`, valueForms, column.form, (form) => choose({ form }))
  const use = proposal === undefined ? undefined : buttonOf(`Use ${proposal}`, () => choose({ key: proposal }))
  const show = () => {
    if (use !== undefined) use.hidden = column.isLeftOut || column.key === proposal
    imported.checked = !column.isLeftOut
    if (key.value !== column.key) key.value = column.key
    key.disabled = column.isLeftOut
    forms.disabled = column.isLeftOut
    examples.replaceChildren(...(column.isLeftOut ? [] : formExamples(values, column.form, possible)))
  }
  const choose = (choice: Partial<ColumnPlan>) => {
    Object.assign(column, choice)
    show()
    onChange()
  }
  imported.addEventListener('change', () => choose({ isLeftOut: !imported.checked }))
  key.addEventListener('input', () => choose({ key: key.value }))
  show()
  const field = (text: string, ...parts: Node[]) =>
    element('div', {}, element('span', { class: 'hint', 'aria-hidden': 'true' }, text), ...parts)
  const item = element(
    'li',
    {},
    element('div', {}, element('strong', {}, label), element('div', { class: 'hint as-is' }, someOf(values))),
    field('Import', imported),
    field('Key', key, ...(use === undefined ? [] : [use])),
    field('Values', forms, examples),
  )
  return { item, hasProposal: proposal !== undefined || possible.length > 0 }
}

/**
 * Shows how a form converts values, and which values do not have the form. If no form is chosen, points out possible
 * ones.
 */
function formExamples(
  values: readonly string[],
  form: ValueForm,
  possible: readonly ValueForm[],
): (HTMLElement | string)[] {
  if (form === 'as-is') {
    const names = possible.map((each) => `“${valueForms[each]}”`).join(' or ')
    return possible.length === 0 ? [] : [`All values shown could be ${names}. Choose it to convert them.`]
  }
  const changed = [...new Set(values)].filter((value) => (convertValue(value, form) ?? value) !== value)
  const others = values.filter((value) => convertValue(value, form) === undefined)
  const items = changed
    .slice(0, shownExamples)
    .map((value) => element('div', { class: 'as-is' }, `${cut(value, 40)} → ${convertValue(value, form)}`))
  if (others.length > 0) {
    const text = `${numberOf(others.length)} of the first ${numberOf(values.length)} values are written otherwise and stay as they are. For example: ${cut(others[0] ?? '', 40)}`
    items.push(element('div', { class: 'bad-text' }, text))
  }
  return items.length > 0 ? items : ['No value shown changes.']
}

/** Returns the values of a column that are not empty. */
function valuesOf(rows: readonly string[][], index: number): string[] {
  return rows.map((row) => row[index] ?? '').filter((value) => value !== '')
}

function someOf(values: readonly string[]): string {
  return [...new Set(values)]
    .slice(0, shownExamples)
    .map((value) => cut(value, 30))
    .join(' · ')
}
