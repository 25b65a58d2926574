import type { ColumnCheck } from './column-check.ts'
import type { Preview } from './csv-preview.ts'

/** The most rows and columns that the preview shows. */
const shownRows = 5
const shownColumns = 30

/** Creates an element. String children become text nodes, so they need no escaping. */
function element(name: string, attributes: Record<string, string>, ...children: (Node | string)[]): HTMLElement {
  const created = document.createElement(name)
  for (const [attribute, value] of Object.entries(attributes)) created.setAttribute(attribute, value)
  created.append(...children)
  return created
}

/** Creates the preview of a file: its problems, the columns with their types, and the first rows. */
export function previewView(
  fileName: string,
  { rows }: Preview,
  columns: readonly ColumnCheck[],
  problems: readonly string[],
): HTMLElement[] {
  const shown = columns.slice(0, shownColumns)
  const head = element(
    'tr',
    {},
    ...shown.map((column) => element('th', { scope: 'col' }, column.name || '(no name)', ...marks(column))),
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
  const misfits = columns.filter((column) => column.misfits > 0)
  return [
    element('h2', {}, fileName),
    ...(problems.length === 0 ? [] : [refusal(problems)]),
    ...misfits.map((column) => element('p', { class: 'notice warn' }, misfitText(column, rows.length))),
    element(
      'p',
      { class: 'hint' },
      `Types as of the first ${counted(rows.length)}.${hidden > 0 ? ` ${number(hidden)} more columns are not shown.` : ''}`,
    ),
    table,
  ]
}

function marks({ type, isRegistered, isRefused }: ColumnCheck): Node[] {
  const mark = element('span', { class: isRefused ? 'mark bad' : isRegistered ? 'mark good' : 'mark' }, type)
  return [element('br', {}), mark, ...(isRegistered ? [element('span', { class: 'hint' }, ' registered')] : [])]
}

function refusal(problems: readonly string[]): HTMLElement {
  const list = element('ul', {}, ...problems.map((problem) => element('li', {}, problem)))
  return element('div', { class: 'notice bad' }, element('p', {}, 'An import would refuse this file:'), list)
}

function misfitText({ name, type, misfits }: ColumnCheck, rows: number): string {
  const values = misfits === 1 ? 'has a value that is' : 'have values that are'
  return `${name}: ${number(misfits)} of the first ${counted(rows)} ${values} not of the registered type ${type}. Such rows are not applied.`
}

function counted(rows: number): string {
  return `${number(rows)} ${rows === 1 ? 'row' : 'rows'}`
}

function number(value: number): string {
  return value.toLocaleString('en-US')
}

function cut(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text
}
