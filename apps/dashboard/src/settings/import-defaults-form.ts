import type { ImportDefaults } from '@sluice/accounts'
import type { NewKeys } from '@sluice/contract'
import { type Html, html } from '@sluice/html'
import type { FastifyRequest } from 'fastify'
import { formTokenField } from '../access/forms.ts'
import { visitedApp } from '../access/guard.ts'
import { holdIfFields } from '../data-import/hold-if-fields.ts'

const choices: Readonly<Record<NewKeys, string>> = {
  register: 'Register their keys, with types that are inferred from the values',
  refuse: 'Refuse the file',
}

/** What the form shows: what is stored, or the bounds of a form that was refused. */
export interface ShownDefaults extends Omit<ImportDefaults, 'hold_if'> {
  hold_if: ImportDefaults['hold_if'] | URLSearchParams
}

/** Renders the form that sets what imports of the app do, unless their requests say otherwise. */
export function importDefaultsForm(request: FastifyRequest, current: ShownDefaults): Html {
  const choice = ([value, text]: readonly [string, string]) =>
    html`<label><input type="radio" name="new_keys" value="${value}"${value === current.new_keys && html` checked`}> ${text}</label>`
  return html`<section class="card narrow" aria-labelledby="imports-do">
    <h2 id="imports-do">Imports</h2>
    <form method="post" action="/apps/${visitedApp(request).appId}/settings/imports">
      ${formTokenField(request)}
      <fieldset>
        <legend>If a file has columns that are neither registered nor declared</legend>
        ${Object.entries(choices).map(choice)}
      </fieldset>
      <label><input type="checkbox" name="keep_changes" value="true"${current.keep_changes && html` checked`}> Keep what each row changes,
        to see it and to undo an import</label>
      ${holdIfFields(current.hold_if)}
      <p class="hint">This applies to every upload route. A request to the API may decide otherwise for its file.</p>
      <button>Save</button>
    </form>
  </section>`
}
