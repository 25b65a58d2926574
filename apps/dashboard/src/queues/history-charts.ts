import { type Html, html } from '@sluice/html'
import { type HistoryPeriod, type HistorySlot, historyPeriods } from '@sluice/operations'
import { count, counted } from '../layout/format.ts'
import { barChart } from './bar-chart.ts'

const periods: Record<HistoryPeriod, { name: string; ticks: readonly string[] }> = {
  '24h': { name: '24 hours', ticks: ['24 h ago', '18 h ago', '12 h ago', '6 h ago'] },
  '7d': { name: '7 days', ticks: [7, 6, 5, 4, 3, 2, 1].map((days) => `${days} d ago`) },
}

/** Returns the period that a query names; 24 hours if it names none. */
export function periodOf(query: unknown): HistoryPeriod {
  const { period } = query as { period?: unknown }
  return period === '7d' ? '7d' : '24h'
}

/** Draws rows per second, waiting imports and failed imports of a period, with links to the other periods. */
export function historyCharts(period: HistoryPeriod, slots: readonly HistorySlot[]): Html {
  const { name, ticks } = periods[period]
  const { seconds } = historyPeriods[period]
  const rates = slots.map(({ rows }) => rows / seconds)
  const rows = counted(Math.round(sum(slots, 'rows')), 'row')
  const failed = counted(sum(slots, 'failed'), 'failed import')
  const completed = counted(sum(slots, 'completed'), 'completed import')
  const waiting = slots.map((slot) => slot.waiting)
  const known = waiting.filter((imports) => imports !== undefined)
  return html`<section aria-labelledby="history"><h2 id="history">Last ${name}</h2>
    <nav class="periods" aria-label="Period"><ul>${Object.entries(periods).map(
      ([key, { name }]) =>
        html`<li><a href="/queues?period=${key}#history"${key === period && html` aria-current="true"`}>${name}</a></li>`,
    )}</ul></nav>
    <h3>Rows per second</h3>
    ${barChart({ bars: rates, ticks, label: `${rows} in ${name}, at most ${count(Math.round(Math.max(...rates, 0)))} per second`, caption: `${rows}. A bar stands for ${barName(seconds)}.` })}
    <h3>Waiting imports</h3>
    ${barChart({ bars: waiting, ticks, label: `At most ${counted(Math.max(...known, 0), 'import')} waited at a time in ${name}`, caption: 'The largest number, without paused apps, measured once a minute. Grey: no worker measured.' })}
    <h3>Failed imports</h3>
    ${barChart({ bars: slots.map((slot) => slot.failed), ticks, label: `${failed} and ${completed} in ${name}`, caption: `${failed}, ${completed}.`, isBad: true })}
  </section>`
}

const sum = (slots: readonly HistorySlot[], key: 'rows' | 'completed' | 'failed') =>
  slots.reduce((total, slot) => total + slot[key], 0)

const barName = (seconds: number) => (seconds < 3600 ? `${seconds / 60} minutes` : `${seconds / 3600} hours`)
