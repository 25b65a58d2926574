import { type Html, html } from '@sluice/html'

const field = 'keep_changes'

/**
 * Renders the box that keeps what an import changes (changes.md §1, Asking for it). `form` is the ID of the form of one
 * file, if the box stands outside it.
 */
export function keepChangesBox(isTicked: boolean, form?: string): Html {
  const ofForm = form !== undefined && html` form="${form}"`
  return html`<input type="hidden" name="${field}" value="false"${ofForm}>
  <label><input type="checkbox" name="${field}" value="true"${ofForm}${isTicked && html` checked`}> Keep what each row changes, to see it
    and to undo the import</label>`
}

/** Returns whether the box of a form is ticked; undefined if the form does not have it. */
export function readKeepChanges(form: URLSearchParams): boolean | undefined {
  // A hidden field says `false` before the box.
  return form.has(field) ? form.getAll(field).at(-1) === 'true' : undefined
}
