import { type Html, html } from '@sluice/html'
import type { KeyStatistics, ProfileStatistics } from '@sluice/profiles'
import { count, counted, shortDatetime } from '../layout/format.ts'
import { exportForm } from './export-section.ts'

/** Renders a table of the keys, and states whether its figures are from all users or from a sample. */
export function keysContent({ keys, sampled, isComplete }: ProfileStatistics): Html {
  if (keys.length === 0) {
    return html`<p class="card">No keys are registered yet. The first import or profile update that uses a key registers it with a permanent type.</p>`
  }
  const users = isComplete ? `all ${counted(sampled, 'user')}` : `a sample of ${counted(sampled, 'user')}`
  return html`<section aria-labelledby="keys">
    <h2 id="keys">${counted(keys.length, 'registered key')}</h2>
    <p class="hint">Keys and their types are permanent. Fill rates and examples are from ${users}.</p>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="keys"><table>
      <thead><tr><th scope="col">Export</th><th scope="col">Key</th><th scope="col">Type</th><th scope="col">Filled</th><th scope="col">Examples</th></tr></thead>
      <tbody>${keys.map((key) => keyRow(key, sampled))}</tbody>
    </table></div>
  </section>`
}

function keyRow({ key, type, filled, examples }: KeyStatistics, sampled: number): Html {
  const share = sampled === 0 ? 0 : (100 * filled) / sampled
  return html`<tr>
    <td><input type="checkbox" name="key" value="${key}" form="${exportForm}" aria-label="Export ${key}"></td>
    <th scope="row"><code class="as-is">${key}</code></th>
    <td><span class="mark">${type}</span></td>
    <td class="fill"><meter min="0" max="100" value="${share.toFixed(1)}" aria-label="filled"></meter> ${percent(share)}</td>
    <td class="examples">${examples.length === 0 ? html`<span class="hint">none in the sample</span>` : examples.map((example) => html`<code class="as-is">${type === 'datetime' ? shortDatetime(example) : example}</code> `)}</td>
  </tr>`
}

/** Formats a share in whole percent. A share that is not exactly 0 or 100 is never shown as 0 % or 100 %. */
function percent(share: number): string {
  if (share > 0 && share < 1) return 'under 1 %'
  if (share > 99 && share < 100) return 'over 99 %'
  return `${count(Math.round(share))} %`
}
