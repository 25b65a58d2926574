import { type Html, html } from '@sluice/html'
import { count, counted } from '../layout/format.ts'

const width = 800
const height = 170
const left = 64
const top = 10
const bottom = 24

/** Draws a bar for each minute: the rows per second that imports of all apps have read. */
export function throughputChart(minutes: readonly { minute: Date; rows: number }[]): Html {
  const rates = minutes.map(({ rows }) => rows / 60)
  const most = Math.max(...rates, 0)
  const scale = niceCeiling(most)
  const step = (width - left) / Math.max(1, minutes.length)
  const y = (rate: number) => Math.round((height - bottom - (rate / scale) * (height - top - bottom)) * 10) / 10
  const total = Math.round(minutes.reduce((sum, { rows }) => sum + rows, 0))
  return html`<figure class="card chart" tabindex="0">
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${counted(total, 'row')} in the last hour, at most ${count(Math.round(most))} per second">
      ${[0, scale / 2, scale].map(
        (rate) => html`<line class="grid" x1="${left}" x2="${width}" y1="${y(rate)}" y2="${y(rate)}"/>
        <text x="${left - 8}" y="${y(rate) + 4}" text-anchor="end">${count(rate)}</text>`,
      )}
      ${rates.map((rate, index) => rate > 0 && html`<rect class="bar" x="${(left + index * step + 1).toFixed(1)}" y="${y(rate)}" width="${(step - 2).toFixed(1)}" height="${(height - bottom - y(rate)).toFixed(1)}" rx="1.5"/>`)}
      ${[60, 45, 30, 15].map((ago) => html`<text x="${left + ((60 - ago) / 60) * (width - left)}" y="${height - 6}">${ago} min ago</text>`)}
      <text x="${width}" y="${height - 6}" text-anchor="end">now</text>
    </svg>
    <figcaption class="hint">${counted(total, 'row')} in the last hour. The rows of an import are distributed evenly over its running time.</figcaption>
  </figure>`
}

/** Returns the next round number that can be halved: 10, 20, 40, 60, 80, 100, 200 … */
function niceCeiling(value: number): number {
  const power = 10 ** Math.max(1, Math.floor(Math.log10(Math.max(1, value))))
  return power * ([1, 2, 4, 6, 8].find((factor) => factor * power >= value) ?? 10)
}
