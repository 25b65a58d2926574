import { type ColumnCheck, type ImportRules, type Type, types } from './column-check.ts'
import type { Preview } from './csv-preview.ts'
import { countedRows, cut, element, numberOf } from './elements.ts'

/** Maximum number of rows and columns that the preview shows. */
const shownRows = 5
const shownColumns = 30

/**
 * Maximum number of selectors for new columns that the preview does not show. No app has more keys, unless an operator
 * raises the limit.
 */
const furtherSelectors = 500

/**
 * The types that the person has chosen for new columns, by key. The map omits types that were left as inferred: the
 * import infers them itself, from the number of rows in its setting.
 */
export type Choices = Map<string, Type>

/**
 * Creates the preview of a file: its problems, the columns with their types, and the first rows. Keeps `chosen` up to
 * date, and calls `onChoice` after each change.
 */
export function previewView(
  fileName: string,
  { rows }: Preview,
  { columns, problems }: { columns: readonly ColumnCheck[]; problems: readonly string[] },
  { newKeys, chosen, onChoice }: { newKeys: ImportRules['newKeys']; chosen: Choices; onChoice: () => void },
): HTMLElement[] {
  const shown = columns.slice(0, shownColumns)
  const notices = element('div', {})
  const update = () =>
    notices.replaceChildren(...columns.flatMap((column) => noticesOf(column, chosen.get(column.name), rows)))
  const selector = (column: ColumnCheck) =>
    typeSelect(column, newKeys, chosen, () => {
      update()
      onChoice()
    })
  update()
  const head = element(
    'tr',
    {},
    ...shown.map((column) => element('th', { scope: 'col' }, column.name || '(no name)', ...marks(column, selector))),
  )
  const body = rows
    .slice(0, shownRows)
    .map((row) => element('tr', {}, ...shown.map((_, index) => element('td', {}, cut(row[index] ?? '')))))
  const hidden = columns.length - shown.length
  const table = element(
    'div',
    { class: 'scroll', tabindex: '0', role: 'region', 'aria-label': 'First rows' },
    element('table', { class: 'cells' }, element('thead', {}, head), element('tbody', {}, ...body)),
  )
  return [
    element('h2', {}, fileName),
    ...(problems.length === 0 ? [] : [refusal(problems)]),
    notices,
    element(
      'p',
      { class: 'hint' },
      `Types as of the first ${countedRows(rows.length)}. The type of a key is final once it is registered.${hidden > 0 ? ` ${numberOf(hidden)} more columns are not shown.` : ''}`,
    ),
    table,
    ...furtherColumns(columns.slice(shownColumns), selector),
  ]
}

/** Creates the type selectors of new columns that the table does not show. */
function furtherColumns(
  columns: readonly ColumnCheck[],
  selector: (column: ColumnCheck) => HTMLElement,
): HTMLElement[] {
  const selectable = columns.filter(({ isNew, isRefused }) => isNew && !isRefused).slice(0, furtherSelectors)
  if (selectable.length === 0) return []
  const rows = selectable.map((column) =>
    element('tr', {}, element('th', { scope: 'row', class: 'wrap' }, column.name), element('td', {}, selector(column))),
  )
  const head = element('tr', {}, ...['Column', 'Type'].map((name) => element('th', { scope: 'col' }, name)))
  return [
    element(
      'details',
      {},
      element('summary', {}, `Types of ${numberOf(selectable.length)} more new columns`),
      element('table', {}, element('thead', {}, head), element('tbody', {}, ...rows)),
    ),
  ]
}

function marks(column: ColumnCheck, selector: (column: ColumnCheck) => HTMLElement): Node[] {
  const { type, isRegistered, isRefused, isNew } = column
  if (isNew && !isRefused) return [element('br', {}), selector(column)]
  const mark = element('span', { class: isRefused ? 'mark bad' : isRegistered ? 'mark good' : 'mark' }, type)
  return [element('br', {}), mark, ...(isRegistered ? [element('span', { class: 'hint' }, ' registered')] : [])]
}

/**
 * Creates the selector of a new key's type. The inferred type is preselected, if the app registers new keys by itself.
 * Calls `onChoice` after each change of `chosen`.
 */
function typeSelect(
  { name, inferred }: ColumnCheck,
  newKeys: ImportRules['newKeys'],
  chosen: Choices,
  onChoice: () => void,
): HTMLElement {
  const preselected = newKeys === 'register' ? inferred : undefined
  const none = element('option', { value: '' }, newKeys === 'register' ? 'no value yet' : 'not registered')
  const selected = chosen.get(name) ?? preselected
  const options = types.map((type) =>
    element('option', { value: type, ...(type === selected && { selected: '' }) }, type),
  )
  const all = [...(preselected === undefined ? [none] : []), ...options]
  const select = element('select', { 'aria-label': `Type of ${name}` }, ...all) as HTMLSelectElement
  select.addEventListener('change', () => {
    const type = types.find((type) => type === select.value)
    if (type === undefined || type === preselected) chosen.delete(name)
    else chosen.set(name, type)
    onChoice()
  })
  return select
}

/** Creates the notice about why an import would refuse a file. */
export function refusal(problems: readonly string[]): HTMLElement {
  const list = element('ul', {}, ...problems.map((problem) => element('li', {}, problem)))
  return element('div', { class: 'notice bad' }, element('p', {}, 'An import would refuse this file:'), list)
}

/** Creates the notices about the values of a column. `chosen` is the type that the person has chosen for it, if any. */
function noticesOf(column: ColumnCheck, chosen: Type | undefined, { length }: readonly unknown[]): HTMLElement[] {
  const misfits = chosen === undefined ? column.misfits : column.misfitsIn(chosen)
  const type = chosen ?? column.type
  const texts = [
    ...(misfits > 0
      ? [misfitText(column.name, misfits, `the ${chosen ? 'chosen' : 'registered'} type ${type}`, length)]
      : []),
    ...(chosen === undefined ? column.warnings : []).map(
      ({ message, examples }) => `${column.name}: ${message}. For example: ${examples.join(', ')}.`,
    ),
  ]
  return texts.map((text) => element('p', { class: 'notice warn' }, text))
}

function misfitText(name: string, misfits: number, type: string, rows: number): string {
  const values = misfits === 1 ? 'has a value that is' : 'have values that are'
  return `${name}: ${numberOf(misfits)} of the first ${countedRows(rows)} ${values} not of ${type}. Such rows are not applied.`
}
