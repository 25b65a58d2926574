import { closeName, personIdName } from '@sluice/contract/close-names'
import { userIdColumn } from '@sluice/contract/import-messages'
import type { ChosenFile, ColumnChoice } from './chosen-file.ts'
import type { ColumnCheck, ImportRules } from './column-check.ts'
import { type ColumnRow, columnRow, problemsOf, type RowContext } from './column-row.ts'
import { buttonOf, countedRows, element, numberOf, selectOf } from './elements.ts'

/** Number of columns that are shown at a time, and number above which a field filters them. */
const shownColumns = 500
const unfilteredColumns = 30

const userIdLabel = 'The user ID is in the column'

/**
 * The table of the columns of a file (second-day.md §1, Preview): for each of them its first values, whether it is
 * imported, its key and type, and how its values are written.
 */
export class ColumnTable {
  readonly element: HTMLElement
  readonly #chosen: ChosenFile
  readonly #onChange: () => void
  readonly #context: RowContext
  /** The rows that were shown so far. */
  readonly #rows = new Map<ColumnChoice, ColumnRow>()
  readonly #body = element('tbody', {})
  readonly #more = element('p', { class: 'actions' })
  readonly #useAll = buttonOf('', () => this.#useSuggestions())
  readonly #userId: HTMLSelectElement
  readonly #filter = element('input', {
    type: 'search',
    'aria-label': 'Filter the columns',
    placeholder: 'Filter the columns',
  }) as HTMLInputElement
  #lastWarning = -1
  #checks: ReadonlyMap<ColumnChoice, ColumnCheck> = new Map()

  /** `onChange` is called after each choice; {@link show} must then be called. */
  constructor(chosen: ChosenFile, { keys, newKeys }: Pick<ImportRules, 'keys' | 'newKeys'>, onChange: () => void) {
    this.#chosen = chosen
    this.#onChange = onChange
    this.#userId = this.#userIdSelect()
    const { columns } = chosen
    const known = new Set([userIdColumn, ...Object.keys(keys)])
    const names = new Set(columns.map(({ name }) => name))
    const free = [...known].filter((key) => !names.has(key))
    const isUserIdNear = columns.some(({ name }) => closeName(name, [userIdColumn]) !== undefined)
    const personId = isUserIdNear ? undefined : personIdName([...names])
    this.#context = {
      newKeys,
      proposalFor: ({ name }) => {
        if (known.has(name)) return undefined
        return closeName(name, free) ?? (name === personId ? userIdColumn : undefined)
      },
      isTaken: (key) => columns.some((column) => !column.isLeftOut && column.key === key),
      onChoice: (column, choice) => {
        Object.assign(column, choice)
        onChange()
      },
    }
    const head = ['Column', 'Import', 'Key', 'Type', 'Values'].map((name) => element('th', { scope: 'col' }, name))
    const table = element('table', {}, element('thead', {}, element('tr', {}, ...head)), this.#body)
    this.element = element(
      'section',
      { class: 'card columns', 'aria-labelledby': 'columns' },
      element('h2', { id: 'columns' }, `Columns of ${chosen.file.name}`),
      element('datalist', { id: 'known-keys' }, ...[...known].map((key) => element('option', { value: key }))),
      ...(names.has(userIdColumn) ? [] : [element('div', { class: 'field' }, userIdLabel, this.#userId)]),
      element('p', { class: 'actions' }, this.#useAll, ...this.#filterField()),
      element('div', { class: 'scroll' }, table),
      this.#more,
      element(
        'p',
        { class: 'hint' },
        `Types as of the first ${countedRows(chosen.source?.rows.length ?? 0)}. The type of a key is final once it is registered.`,
      ),
    )
    this.#showRows(shownColumns)
  }

  /** Shows the choices, and the checks of the columns that are imported. */
  show(checks: ReadonlyMap<ColumnChoice, ColumnCheck>): void {
    this.#checks = checks
    for (const [column, row] of this.#rows) row.show(checks.get(column), this.#chosen.source?.rows.length ?? 0)
    const suggested = this.#shown.reduce((sum, [, row]) => sum + Object.keys(row.suggestion()).length, 0)
    this.#useAll.hidden = suggested === 0
    this.#useAll.textContent = suggested === 1 ? 'Use the suggestion' : `Use all ${numberOf(suggested)} suggestions`
    const at = this.#chosen.columns.findIndex(({ key, isLeftOut }) => key === userIdColumn && !isLeftOut)
    this.#userId.value = at === -1 ? '' : `column ${at}`
  }

  /** Moves the focus to the next column with a warning, and shows it if it is not shown. */
  goToNextWarning(): void {
    const { columns, source } = this.#chosen
    const warned = [...columns.entries()].filter(([, column]) => {
      const check = this.#checks.get(column)
      return check !== undefined && problemsOf(check, source?.rows.length ?? 0, column.form).length > 0
    })
    const [index, column] = warned.find(([index]) => index > this.#lastWarning) ?? warned[0] ?? []
    if (index === undefined || column === undefined) return
    this.#lastWarning = index
    if (this.#rows.get(column)?.row.parentNode !== this.#body) {
      this.#filter.value = ''
      this.#showRows(Math.ceil((index + 1) / shownColumns) * shownColumns)
    }
    this.#rows.get(column)?.row.querySelector<HTMLElement>('select:not([hidden])')?.focus()
  }

  /** Shows the rows of the first `count` columns that match the filter. */
  #showRows(count: number): void {
    const filter = this.#filter.value.toLowerCase()
    const matching = [...this.#chosen.columns.entries()].filter(([, { name, key }]) =>
      `${name}\n${key}`.toLowerCase().includes(filter),
    )
    this.#body.replaceChildren(...matching.slice(0, count).map(([index, column]) => this.#rowOf(column, index).row))
    const left = matching.length - count
    const label = `Show ${numberOf(Math.min(left, shownColumns))} more of ${numberOf(matching.length)} columns`
    this.#more.replaceChildren(...(left > 0 ? [buttonOf(label, () => this.#showRows(count + shownColumns))] : []))
    this.show(this.#checks)
  }

  #rowOf(column: ColumnChoice, index: number): ColumnRow {
    const found = this.#rows.get(column)
    if (found !== undefined) return found
    const cells = (this.#chosen.source?.rows ?? []).map((row) => row[index] ?? '')
    const row = columnRow(
      column,
      cells.filter((value) => value !== ''),
      this.#context,
    )
    this.#rows.set(column, row)
    return row
  }

  /** The rows that are shown now. To find suggestions for all columns of a wide file would take seconds. */
  get #shown(): [ColumnChoice, ColumnRow][] {
    return [...this.#rows].filter(([, { row }]) => row.parentNode === this.#body)
  }

  #useSuggestions(): void {
    for (const [column, row] of this.#shown) Object.assign(column, row.suggestion())
    this.#onChange()
  }

  /** Creates the selector of the column with the user IDs, for files without a column of that name. */
  #userIdSelect(): HTMLSelectElement {
    const { columns } = this.#chosen
    const options = Object.fromEntries(columns.map(({ name }, index) => [`column ${index}`, name || '(no name)']))
    return selectOf(userIdLabel, { '': 'Choose a column', ...options }, '', (value) => {
      for (const [index, column] of columns.entries()) {
        if (value === `column ${index}`) Object.assign(column, { key: userIdColumn, isLeftOut: false })
        else if (column.key === userIdColumn) column.key = column.name
      }
      this.#onChange()
    })
  }

  #filterField(): HTMLElement[] {
    if (this.#chosen.columns.length <= unfilteredColumns) return []
    this.#filter.addEventListener('input', () => this.#showRows(shownColumns))
    return [this.#filter]
  }
}
