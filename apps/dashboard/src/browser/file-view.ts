import type { ChosenFile } from './chosen-file.ts'
import { checkColumns, type ImportRules } from './column-check.ts'
import { columnChoicesView } from './column-choices-view.ts'
import { element, showProblem } from './elements.ts'
import { findMapping, forgetMapping, type KeptMapping, keepMapping, type Mapping } from './kept-mapping.ts'
import { isSameMapping, keepTick, mappingOffer } from './mapping-view.ts'
import { type Choices, previewView, refusal } from './preview-view.ts'
import { readingView, updateSentAs } from './reading-view.ts'

/**
 * Shows a chosen file in three parts: how it is read, what becomes of its columns, and the preview of an import. Each
 * part depends on the preceding part.
 */
export class FileView {
  readonly chosen: ChosenFile
  /** The types that the person has chosen. */
  readonly types: Choices = new Map()
  readonly #form: HTMLFormElement
  readonly #rules: () => ImportRules
  readonly #reading = part('[data-reading]')
  readonly #columns = part('[data-columns]')
  readonly #preview = part('[data-preview]')
  readonly #keep = keepTick()
  #kept: KeptMapping | undefined
  /** Number of the last question about a kept mapping. Answers to earlier questions are dropped. */
  #question = 0

  /** `rules` returns the rules of the import, which depend on the fields of `form`. */
  constructor(chosen: ChosenFile, form: HTMLFormElement, rules: () => ImportRules) {
    this.chosen = chosen
    this.#form = form
    this.#rules = rules
    this.#showReading()
  }

  /** Shows the preview again, because the rules have changed. */
  showPreview(): void {
    const { chosen } = this
    const rules = this.#rules()
    const preview = chosen.preview(rules.clearMarker)
    showProblem(undefined)
    const problem = chosen.headerProblem()
    const headerProblems = problem === undefined ? [] : [problem]
    if (preview === undefined) {
      this.#preview.replaceChildren(refusal(headerProblems))
      return
    }
    const { columns, problems } = checkColumns(preview, rules)
    const checked = { columns, problems: [...headerProblems, ...problems] }
    const selectable = checked.columns.filter(({ isNew }) => isNew).map(({ name }) => name)
    for (const name of this.types.keys()) if (!selectable.includes(name)) this.types.delete(name)
    const onChoice = () => this.#keep.update(this.#mapping)
    const choices = { newKeys: rules.newKeys, chosen: this.types, onChoice }
    this.#preview.replaceChildren(...previewView(chosen.file.name, preview, checked, choices))
  }

  /** Saves the mapping of the columns if the person chose to keep it, unless the same mapping is saved already. */
  async keepMapping(): Promise<void> {
    if (this.#keep.tick.hidden || !this.#keep.isOn()) return
    if (this.#kept !== undefined && isSameMapping(this.#kept, this.#mapping)) return
    await keepMapping(this.#form, this.#mapping)
  }

  get #mapping(): Mapping {
    return { columns: this.chosen.columns, types: this.types }
  }

  #showReading(): void {
    // A selector loses the focus when its part is created again.
    const focused = document.activeElement?.getAttribute('aria-label')
    this.#reading.replaceChildren(readingView(this.chosen, () => this.#showReading()))
    const again = [...this.#reading.querySelectorAll('select')].find(
      (select) => focused !== null && select.getAttribute('aria-label') === focused,
    )
    again?.focus()
    this.#showColumns()
    void this.#offerMapping()
  }

  #showColumns(): void {
    const { chosen } = this
    if (chosen.columns.length === 0) this.#columns.replaceChildren()
    else {
      const choices = columnChoicesView(chosen, this.#rules().keys, () => this.#showResult())
      choices.append(this.#keep.tick)
      this.#columns.replaceChildren(choices)
    }
    this.#showResult()
  }

  #showResult(): void {
    updateSentAs(this.#reading, this.chosen)
    this.showPreview()
    this.#keep.update(this.#mapping)
  }

  /** Asks for the mapping that was kept for these columns, and offers it. */
  async #offerMapping(): Promise<void> {
    const question = ++this.#question
    const { chosen } = this
    const { columns } = chosen
    const kept = columns.length === 0 ? undefined : await findMapping(this.#form, columns)
    if (question !== this.#question) return
    this.#kept = kept
    if (kept === undefined || isSameMapping(kept, this.#mapping)) return
    const use = () => {
      chosen.columns = kept.columns.map((column) => ({ ...column }))
      this.types.clear()
      for (const [key, type] of kept.types) this.types.set(key, type)
      this.#showColumns()
    }
    const forget = async () => {
      if (!(await forgetMapping(this.#form, columns))) return
      this.#kept = undefined
      offer.remove()
    }
    const offer = mappingOffer(kept, use, () => void forget())
    this.#columns.prepend(offer)
  }
}

/** Empties all parts. */
export function clearView(): void {
  for (const name of ['reading', 'columns', 'preview']) part(`[data-${name}]`).replaceChildren()
}

/** Returns a part of the page; an element outside of the page if it is missing. */
function part(selector: string): Element {
  return document.querySelector(selector) ?? element('div', {})
}
