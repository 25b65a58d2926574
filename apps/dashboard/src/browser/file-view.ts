import { type ChosenFile, type ColumnChoice, isChosen } from './chosen-file.ts'
import {
  type ColumnCheck,
  checkColumns,
  formRefusal,
  type ImportRules,
  type Refusal,
  registersKey,
  type Type,
} from './column-check.ts'
import { problemsOf, warningText } from './column-row.ts'
import { ColumnTable } from './column-table.ts'
import { unchangedColumn } from './conversion/plan.ts'
import { buttonOf, countedRows, element, showProblem } from './elements.ts'
import { keepChoices, restoreChoices } from './kept-choices.ts'
import { findMapping, forgetMapping, isSameMapping, type KeptMapping, keepMapping } from './kept-mapping.ts'
import { readingView, updateSentAs } from './reading-view.ts'
import { confirmTypes, type Outcome, showOutcome } from './send-bar.ts'

const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })

/**
 * Shows a chosen file in three parts: how it is read, what becomes of its columns, and what an import would do. Each
 * part depends on the preceding part.
 */
export class FileView {
  readonly chosen: ChosenFile
  readonly #form: HTMLFormElement
  readonly #rules: () => Omit<ImportRules, 'declared'>
  readonly #reading = part('[data-reading]')
  readonly #columns = part('[data-columns]')
  /** In the bar that stays in view: a person who does not see the offer maps the columns again. */
  readonly #mappingOffer = part('[data-offer]')
  readonly #keep = element('input', { type: 'checkbox', checked: '' }) as HTMLInputElement
  readonly #keepLabel = element('label', {}, this.#keep, ' Keep this mapping for files with the same columns')
  #table: ColumnTable | undefined
  #checks: Map<ColumnChoice, ColumnCheck> = new Map()
  #refusals: readonly Refusal[] = []
  /** The warnings that the person has accepted. */
  #accepted = ''
  #kept: KeptMapping | undefined
  /** Number of the last question about a kept mapping. Answers to earlier questions are dropped. */
  #question = 0

  /** `rules` returns the rules of the import, which depend on the fields of `form`. */
  constructor(chosen: ChosenFile, form: HTMLFormElement, rules: () => Omit<ImportRules, 'declared'>) {
    this.chosen = chosen
    this.#form = form
    this.#rules = rules
    const isRestored = restoreChoices(chosen)
    this.#showReading()
    if (isRestored) this.#offerToStartOver()
  }

  /** The types that the person has chosen for new keys. */
  get types(): Record<string, Type> {
    const typed = [...this.#checks].flatMap(([{ key, type }, { isNew }]) =>
      isNew && type ? [[key, type] as const] : [],
    )
    return Object.fromEntries(typed)
  }

  /** Whether the page knows that an import would refuse the file. */
  get isRefused(): boolean {
    return this.#refusals.length > 0
  }

  /** Checks the columns by the rules of the import, and shows the result. */
  showResult(): void {
    const { chosen } = this
    updateSentAs(this.#reading, chosen)
    this.#check()
    this.#table?.show(this.#checks)
    this.#keepLabel.hidden = !chosen.columns.some(isChosen)
    keepChoices(chosen)
    showOutcome(this.#outcome, this.#refusals)
  }

  /** Asks whether types that may be wrong become final, unless the person has agreed. Resolves to the answer. */
  async acceptsTypes(): Promise<boolean> {
    const warnings = [...this.#checks].flatMap(([{ form }, { name, warnings }]) =>
      warnings.map((warning) => `${name}: ${warningText(warning, form)}`),
    )
    const asked = warnings.join('\n')
    if (asked === '' || asked === this.#accepted) return true
    if (!(await confirmTypes(warnings))) return false
    this.#accepted = asked
    return true
  }

  /** Saves the mapping of the columns if the person chose to keep it, unless the same mapping is saved already. */
  async keepMapping(): Promise<void> {
    const { columns } = this.chosen
    if (this.#keepLabel.hidden || !this.#keep.checked) return
    if (this.#kept !== undefined && isSameMapping(this.#kept.columns, columns)) return
    await keepMapping(this.#form, columns)
  }

  #check(): void {
    const { chosen } = this
    const rules = this.#rules()
    const imported = chosen.columns.filter(({ isLeftOut }) => !isLeftOut)
    const declared = Object.fromEntries(imported.flatMap(({ key, type }) => (type === undefined ? [] : [[key, type]])))
    const forms = Object.fromEntries(imported.map(({ key, form }) => [key, form]))
    const preview = chosen.preview(rules.clearMarker) ?? { header: [], rows: [] }
    const { columns, refusals } = checkColumns(preview, { ...rules, declared, forms })
    const problem = chosen.headerProblem()
    const ofForm = problem === undefined ? [] : [formRefusal(problem)]
    this.#checks = new Map()
    for (const [index, column] of imported.entries()) {
      const check = columns[index]
      if (check !== undefined) this.#checks.set(column, check)
    }
    this.#refusals = chosen.source === undefined ? ofForm : [...ofForm, ...refusals]
  }

  get #outcome(): Outcome | undefined {
    const { source, start } = this.chosen
    if (source === undefined) return undefined
    const checks = [...this.#checks.values()]
    const problems = [...this.#checks].flatMap(([{ form }, check]) => problemsOf(check, source.rows.length, form))
    return {
      rows: `${start.isWhole ? '' : 'More than '}${countedRows(source.rowCount)}`,
      columns: checks.filter(({ isIgnored }) => !isIgnored).length,
      newKeys: checks.filter(registersKey).length,
      warnings: problems.length,
      goToNextWarning: () => this.#table?.goToNextWarning(),
    }
  }

  /** Shows a change. The last problem of the upload is no longer of interest. */
  #change(show: () => void): void {
    showProblem(undefined)
    show()
  }

  #showReading(): void {
    // A selector loses the focus when its part is created again.
    const focused = document.activeElement?.getAttribute('aria-label')
    this.#reading.replaceChildren(readingView(this.chosen, () => this.#change(() => this.#showReading())))
    const again = [...this.#reading.querySelectorAll('select')].find(
      (select) => focused !== null && select.getAttribute('aria-label') === focused,
    )
    again?.focus()
    this.#showColumns()
    void this.#offerMapping()
  }

  #showColumns(): void {
    const { chosen } = this
    this.#table =
      chosen.columns.length === 0
        ? undefined
        : new ColumnTable(chosen, this.#rules(), () => this.#change(() => this.showResult()))
    this.#table?.element.append(this.#keepLabel)
    this.#columns.replaceChildren(...(this.#table === undefined ? [] : [this.#table.element]))
    this.showResult()
  }

  #use(columns: readonly ColumnChoice[]): void {
    this.chosen.columns = columns.map((column) => ({ ...column }))
    this.#showColumns()
  }

  #offerToStartOver(): void {
    const startOver = () => this.#use(this.chosen.columns.map(({ name }) => unchangedColumn(name)))
    const actions = element('p', { class: 'actions' }, buttonOf('Start over', startOver))
    const text = element('p', {}, 'Your earlier choices for this file are used.')
    this.#columns.prepend(element('div', { class: 'notice', role: 'status' }, text, actions))
  }

  /** Asks for the mapping that was kept for these columns, and offers it. */
  async #offerMapping(): Promise<void> {
    const question = ++this.#question
    this.#mappingOffer.replaceChildren()
    const { columns } = this.chosen
    const kept = columns.length === 0 ? undefined : await findMapping(this.#form, columns)
    if (question !== this.#question) return
    this.#kept = kept
    if (kept === undefined || isSameMapping(kept.columns, this.chosen.columns)) return
    const use = () => {
      this.#use(kept.columns)
      this.#mappingOffer.replaceChildren()
    }
    const forget = async () => {
      if (!(await forgetMapping(this.#form, columns))) return
      this.#kept = undefined
      this.#mappingOffer.replaceChildren()
    }
    const actions = element(
      'p',
      { class: 'actions' },
      `On ${dayFormat.format(kept.keptAt)}, a mapping was kept for files with these columns.`,
      buttonOf('Use the mapping', use),
      buttonOf('Forget it', () => void forget()),
    )
    this.#mappingOffer.replaceChildren(actions)
  }
}

/** Empties all parts. */
export function clearView(): void {
  for (const name of ['reading', 'columns', 'offer']) part(`[data-${name}]`).replaceChildren()
  showOutcome(undefined)
}

/** Returns a part of the page; an element outside of the page if it is missing. */
function part(selector: string): Element {
  return document.querySelector(selector) ?? element('div', {})
}
