import type { ColumnChoice } from './chosen-file.ts'
import { type ColumnCheck, type ImportRules, type Type, types, type Warning } from './column-check.ts'
import { convertValue, offeredForms, possibleForms, type ValueForm, valueForms } from './conversion/value-forms.ts'
import { buttonOf, countedRows, cut, element, numberOf, selectOf } from './elements.ts'

/** Maximum number of values of a column, and of converted values, that are shown as examples. */
const shownValues = 3
const shownConversions = 2

/** What the rows of a table of columns have in common. */
export interface RowContext {
  newKeys: ImportRules['newKeys']
  /** Returns the known key that a column probably means; undefined if there is none. */
  proposalFor: (column: ColumnChoice) => string | undefined
  /** Whether a column that is imported has this key. */
  isTaken: (key: string) => boolean
  /** Called with each choice, to apply it. */
  onChoice: (column: ColumnChoice, choice: Partial<ColumnChoice>) => void
}

/** The row of a column, in which a person chooses what becomes of it. */
export interface ColumnRow {
  row: HTMLElement
  /** Shows the choices, and the check of the column among the first `rows` rows; no check if it is left out. */
  show: (check: ColumnCheck | undefined, rows: number) => void
  /** Returns the choices that the page suggests and that nobody has made yet. */
  suggestion: () => Partial<ColumnChoice>
}

/** Creates the row of a column. `values` are the values of the first rows that are not empty. */
export function columnRow(column: ColumnChoice, values: readonly string[], context: RowContext): ColumnRow {
  const label = column.name || '(no name)'
  const proposal = context.proposalFor(column)
  const possible = possibleForms(values)
  const choose = (choice: Partial<ColumnChoice>) => context.onChoice(column, choice)
  const imported = element('input', { type: 'checkbox', 'aria-label': `Import ${label}` }) as HTMLInputElement
  const key = keyInput(label)
  const use = buttonOf(`Use ${proposal}`, () => choose({ key: proposal ?? column.key }))
  const offered = offeredForms(values, column.form)
  const forms = selectOf(`Values of ${label}`, offered, column.form, (form) => choose({ form }))
  const type = typeChoice(column, label, context.newKeys, (type) => choose({ type }))
  const conversions = element('div', { class: 'hint' })
  imported.addEventListener('change', () => choose({ isLeftOut: !imported.checked }))
  key.addEventListener('input', () => choose({ key: key.value }))

  const suggestion = (): Partial<ColumnChoice> => {
    const isFree = proposal !== undefined && column.key === column.name && !context.isTaken(proposal)
    const form = column.form === 'as-is' && possible.length === 1 ? possible[0] : undefined
    return column.isLeftOut ? {} : { ...(isFree && { key: proposal }), ...(form && { form }) }
  }
  const show: ColumnRow['show'] = (check, rows) => {
    // Only another key lets an ignored column be imported, so the key can still be chosen.
    const isIgnored = check?.isIgnored === true
    const isImported = !column.isLeftOut && !isIgnored
    imported.checked = isImported
    imported.disabled = isIgnored
    if (key.value !== column.key) key.value = column.key
    key.disabled = column.isLeftOut
    forms.disabled = !isImported
    forms.value = column.form
    use.hidden = suggestion().key === undefined
    conversions.replaceChildren(...(isImported ? conversionExamples(values, column.form, possible) : []))
    type.show(check, rows)
  }
  const row = element(
    'tr',
    {},
    element('th', { scope: 'row' }, element('div', { class: 'wrap' }, label), ...examples(values)),
    cell('Import', imported),
    cell('Key', key, use),
    cell('Type', ...type.parts),
    cell('Values', forms, conversions),
  )
  return { row, show, suggestion }
}

function keyInput(label: string): HTMLInputElement {
  return element('input', {
    type: 'text',
    'aria-label': `Key of ${label}`,
    list: 'known-keys',
    autocomplete: 'off',
    spellcheck: 'false',
  }) as HTMLInputElement
}

/** Creates a cell. On phones, a row is a list of its cells with their names. */
function cell(name: string, ...parts: Node[]): HTMLElement {
  return element('td', { 'data-name': name }, ...parts)
}

function examples(values: readonly string[]): HTMLElement[] {
  return [...new Set(values)]
    .slice(0, shownValues)
    .map((value) =>
      element('div', { class: 'example', title: cut(value) }, cut(value, 60).replaceAll(/\r\n?|\n/g, ' ↵ ')),
    )
}

interface TypeChoice {
  parts: HTMLElement[]
  show: ColumnRow['show']
}

/**
 * Creates the selector of a new key's type, or says what the column is, and shows what is wrong with its values. The
 * inferred type is preselected, if the app registers new keys by itself. The type of a column is set only if the person
 * chooses another one, because the import may infer it from more rows.
 */
function typeChoice(
  column: ColumnChoice,
  label: string,
  newKeys: ImportRules['newKeys'],
  onChoice: (type: Type | undefined) => void,
): TypeChoice {
  let preselected: Type | undefined
  const none = element('option', { value: '' }, newKeys === 'register' ? 'no value yet' : 'not registered')
  const options = types.map((type) => element('option', { value: type }, type))
  const select = element('select', { 'aria-label': `Type of ${label}` }, none, ...options) as HTMLSelectElement
  const badge = element('span', {})
  const notices = element('div', {})
  select.addEventListener('change', () => {
    const type = types.find((type) => type === select.value)
    onChoice(type === preselected ? undefined : type)
  })
  const show: ColumnRow['show'] = (check, rows) => {
    const isSelectable = check?.isNew === true && !check.isRefused
    preselected = newKeys === 'register' ? check?.inferred : undefined
    none.hidden = preselected !== undefined
    select.value = column.type ?? preselected ?? ''
    select.hidden = !isSelectable
    badge.hidden = isSelectable || check === undefined
    badge.className = `badge ${check === undefined ? '' : toneOf(check)}`
    badge.textContent = check?.isRefused ? 'refused' : `${check?.type}${check?.isRegistered ? ', registered' : ''}`
    const texts = check === undefined ? [] : problemsOf(check, rows, column.form)
    notices.replaceChildren(...texts.map((text) => element('p', { class: 'notice warn' }, text)))
  }
  return { parts: [select, badge, notices], show }
}

function toneOf({ isRefused, isIgnored, isRegistered }: ColumnCheck): string {
  if (isRefused) return 'bad'
  if (isIgnored) return 'warn'
  return isRegistered ? 'good' : ''
}

/** Returns what is wrong with the values of a column among the first `rows` rows, as they are sent. */
export function problemsOf(
  { misfits, isRegistered, type, warnings }: ColumnCheck,
  rows: number,
  form: ValueForm,
): string[] {
  const values = misfits === 1 ? 'has a value that is' : 'have values that are'
  const ofType = `the ${isRegistered ? 'registered' : 'chosen'} type ${type}`
  const misfit = `${numberOf(misfits)} of the first ${countedRows(rows)} ${values} not of ${ofType}. Such rows are not applied.`
  return [...(misfits > 0 ? [asSent(misfit, form)] : []), ...warnings.map((warning) => warningText(warning, form))]
}

/** Returns a warning about an inferred type as a sentence. */
export function warningText({ message, examples }: Warning, form: ValueForm): string {
  return asSent(`${message}. For example: ${examples.join(', ')}.`, form)
}

/** Returns a text about counted values. If a form is chosen, the text says that it is about converted values. */
function asSent(text: string, form: ValueForm): string {
  return form === 'as-is' ? text : `After the conversion, ${text}`
}

/**
 * Shows how a form converts values, and which values do not have the form. If no form is chosen, points out possible
 * ones.
 */
function conversionExamples(
  values: readonly string[],
  form: ValueForm,
  possible: readonly ValueForm[],
): (HTMLElement | string)[] {
  if (form === 'as-is') {
    const [first] = possible
    if (first === undefined) return []
    const fitting = values.filter((value) => convertValue(value, first) !== undefined).length
    const which = fitting === values.length ? 'All' : `${numberOf(fitting)} of the first ${numberOf(values.length)}`
    const names = possible.map((each) => `“${valueForms[each]}”`).join(' or ')
    return [`${which} values shown could be ${names}. Choose it to convert them.`]
  }
  const changed = [...new Set(values)].filter((value) => (convertValue(value, form) ?? value) !== value)
  const others = values.filter((value) => convertValue(value, form) === undefined)
  const items = changed
    .slice(0, shownConversions)
    .map((value) => element('div', { class: 'as-is' }, `${cut(value, 40)} → ${convertValue(value, form)}`))
  if (others.length > 0) {
    const stay =
      others.length === 1 ? 'is written otherwise and stays as it is' : 'are written otherwise and stay as they are'
    const text = `${numberOf(others.length)} of the first ${numberOf(values.length)} values ${stay}. For example: ${cut(others[0] ?? '', 40)}`
    items.push(element('div', { class: 'bad-text' }, text))
  }
  return items.length > 0 ? items : ['No value shown changes.']
}
