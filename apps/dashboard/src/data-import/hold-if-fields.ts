import { boundLabels, type HoldBound, type HoldIf, holdBounds, parseHoldIf } from '@sluice/contract'
import { type Html, html } from '@sluice/html'

/** The name of a bound's field. Forms have another field `new_keys`. */
const nameOf = (bound: HoldBound) => `hold_${bound}`

/**
 * Renders the bounds above which an import is held (changes.md §2), or the fields of a form that was refused. `form` is
 * the ID of the form of one file.
 */
export function holdIfFields(current: HoldIf | URLSearchParams, form?: string): Html {
  const shown = (bound: HoldBound) =>
    current instanceof URLSearchParams ? current.get(nameOf(bound)) : typeof current === 'object' && current[bound]
  const isAlways = current instanceof URLSearchParams ? holdsAlways(current) : current === 'always'
  const ofForm = form !== undefined && html` form="${form}"`
  const field = (bound: HoldBound) => html`<label class="bound">${boundLabels[bound]}
      <input type="number" name="${nameOf(bound)}" min="0"${bound === 'new_keys' ? html` step="1"` : html` max="100" step="any"`} value="${shown(bound)}"${ofForm}></label>`
  return html`<fieldset class="narrow">
    <legend>Ask before applying if a file has more than</legend>
    ${holdBounds.map(field)}
    <label><input type="checkbox" name="hold_always" value="true"${isAlways && html` checked`}${ofForm}> ${form === undefined ? 'Ask before applying every file' : 'Ask before applying this file in any case'}</label>
    <p class="hint">The whole file is checked first. Nothing is applied until somebody approves it. Empty fields have no bound.</p>
  </fieldset>`
}

function holdsAlways(form: URLSearchParams): boolean {
  return form.get('hold_always') === 'true'
}

/**
 * Reads the bounds from a form's fields. Returns undefined if the form does not have them, or the problem in words if a
 * number is refused.
 */
export function readHoldIf(form: URLSearchParams): { holdIf: HoldIf | undefined } | { problem: string } {
  if (holdsAlways(form)) return { holdIf: 'always' }
  if (!holdBounds.some((bound) => form.has(nameOf(bound)))) return { holdIf: undefined }
  const bounds: Partial<Record<HoldBound, number>> = {}
  for (const bound of holdBounds) {
    const text = form.get(nameOf(bound))?.trim() ?? ''
    if (text === '') continue
    // Other spellings of numbers, such as hexadecimal ones, are refused like words.
    bounds[bound] = /^\d*\.?\d+$/.test(text) ? Number(text) : Number.NaN
    const parsed = parseHoldIf({ [bound]: bounds[bound] })
    if ('problem' in parsed) return { problem: `${boundLabels[bound]}${parsed.problem.slice(bound.length)}.` }
  }
  return { holdIf: Object.keys(bounds).length === 0 ? 'never' : bounds }
}
