import { type Html, html } from '@sluice/html'
import { count } from '../layout/format.ts'

const width = 800
const height = 170
const left = 64
const top = 10
const bottom = 24

/** A chart of bars over a period that ends now. */
interface BarChart {
  /** The heights of the bars, oldest first; undefined if the value is unknown. */
  bars: readonly (number | undefined)[]
  /** Texts below the chart, evenly distributed from its left edge on. The right edge is "now". */
  ticks: readonly string[]
  /** Description of the chart for people who cannot see it. */
  label: string
  caption?: string
  /** Colours the bars as problems. */
  isBad?: boolean
}

/** Draws bars over time. Unknown values are shown as grey areas. */
export function barChart({ bars, ticks, label, caption, isBad = false }: BarChart): Html {
  const scale = niceCeiling(Math.max(...bars.map((bar) => bar ?? 0), 0))
  const step = (width - left) / Math.max(1, bars.length)
  const y = (value: number) => Math.round((height - bottom - (value / scale) * (height - top - bottom)) * 10) / 10
  const rectangle = (index: number, from: number, style: string, gap: number) =>
    html`<rect class="${style}" x="${(left + index * step + gap / 2).toFixed(1)}" y="${from}" width="${(step - gap).toFixed(1)}" height="${(height - bottom - from).toFixed(1)}"/>`
  const lines = [0, scale / 2, scale]
  return html`<figure class="card chart recent" tabindex="0"><div class="plot">
    <svg class="scale" viewBox="0 0 ${left} ${height}" aria-hidden="true">
      ${lines.map((value) => html`<text x="${left - 8}" y="${y(value) + 4}" text-anchor="end">${count(value)}</text>`)}
    </svg>
    <svg viewBox="${left} 0 ${width - left} ${height}" role="img" aria-label="${label}">
      ${bars.map((bar, index) => bar === undefined && rectangle(index, top, 'unknown', -0.5))}
      ${lines.map((value) => html`<line class="grid" x1="${left}" x2="${width}" y1="${y(value)}" y2="${y(value)}"/>`)}
      ${bars.map((bar, index) => bar !== undefined && bar > 0 && rectangle(index, y(bar), isBad ? 'bar bad' : 'bar', 2))}
      ${ticks.map((tick, index) => html`<text x="${left + (index / ticks.length) * (width - left)}" y="${height - 6}">${tick}</text>`)}
      <text x="${width}" y="${height - 6}" text-anchor="end">now</text>
    </svg></div>
    ${caption !== undefined && html`<figcaption class="hint">${caption}</figcaption>`}
  </figure>`
}

/** Returns the next round number that can be halved: 10, 20, 40, 60, 80, 100, 200 … */
function niceCeiling(value: number): number {
  const power = 10 ** Math.max(1, Math.floor(Math.log10(Math.max(1, value))))
  return power * ([1, 2, 4, 6, 8].find((factor) => factor * power >= value) ?? 10)
}
