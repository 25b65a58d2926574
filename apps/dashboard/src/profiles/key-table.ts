import { type Html, html } from '@sluice/html'
import type { KeyStatistics, ProfileStatistics } from '@sluice/profiles'
import { count, counted, shortDatetime } from '../layout/format.ts'
import { exportForm } from './export-section.ts'

/**
 * Renders a table of the keys. States how many keys may be enabled, and whether the figures are from all users or from
 * a sample.
 */
export function keysContent(appId: number, { keys, limit, sampled, isComplete }: ProfileStatistics): Html {
  if (keys.length === 0) {
    return html`<p class="card">No keys are registered yet. The first import or profile update that uses a key registers it with a permanent type.</p>`
  }
  const users = isComplete ? `all ${counted(sampled, 'user')}` : `a sample of ${counted(sampled, 'user')}`
  const enabled = keys.filter((key) => key.enabled).length
  const disabled = keys.length - enabled
  return html`<section aria-labelledby="keys">
    <h2 id="keys">${count(enabled)} of ${counted(limit, 'key')}</h2>
    <p class="hint">${disabled > 0 && `${counted(disabled, 'disabled key')} do${disabled === 1 ? 'es' : ''} not count. `}Keys and their types are permanent. Fill rates and examples are from ${users}.</p>
    <div class="scroll" tabindex="0" role="region" aria-labelledby="keys"><table>
      <thead><tr><th scope="col">Export</th><th scope="col">Key</th><th scope="col">Type</th><th scope="col">Filled</th><th scope="col">Examples</th><th scope="col">Change</th></tr></thead>
      <tbody>${keys.map((key) => keyRow(appId, key, sampled))}</tbody>
    </table></div>
  </section>`
}

function keyRow(
  appId: number,
  { key, type, enabled, description, filled, examples }: KeyStatistics,
  sampled: number,
): Html {
  const share = sampled === 0 ? 0 : (100 * filled) / sampled
  return html`<tr>
    <td>${enabled && html`<input type="checkbox" name="key" value="${key}" form="${exportForm}" aria-label="Export ${key}">`}</td>
    <th scope="row"><code class="as-is">${key}</code>${description !== null && html`<div class="hint wrap">${description}</div>`}</th>
    <td><span class="badge">${type}</span>${!enabled && html` <span class="badge warn">disabled</span>`}</td>
    <td class="fill"><meter min="0" max="100" value="${share.toFixed(1)}" aria-label="filled"></meter> ${percent(share)}</td>
    <td class="examples">${!enabled ? html`<span class="hint">kept, not shown</span>` : examples.length === 0 ? html`<span class="hint">none in the sample</span>` : examples.map((example) => html`<code class="as-is">${type === 'datetime' ? shortDatetime(example) : example}</code> `)}</td>
    <td><a href="/apps/${appId}/profiles/key?key=${encodeURIComponent(key)}" aria-label="Change ${key}">Change…</a></td>
  </tr>`
}

/** Formats a share in whole percent. A share that is not exactly 0 or 100 is never shown as 0 % or 100 %. */
function percent(share: number): string {
  if (share > 0 && share < 1) return 'under 1 %'
  if (share > 99 && share < 100) return 'over 99 %'
  return `${count(Math.round(share))} %`
}
