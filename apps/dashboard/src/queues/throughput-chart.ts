import type { Html } from '@sluice/html'
import { count, counted } from '../layout/format.ts'
import { barChart } from './bar-chart.ts'

/** Draws a bar for each minute: the rows per second that imports of all apps have read. */
export function throughputChart(minutes: readonly { minute: Date; rows: number }[]): Html {
  const bars = minutes.map(({ rows }) => rows / 60)
  const total = counted(Math.round(minutes.reduce((sum, { rows }) => sum + rows, 0)), 'row')
  return barChart({
    bars,
    ticks: [60, 45, 30, 15].map((ago) => `${ago} min ago`),
    label: `${total} in the last hour, at most ${count(Math.round(Math.max(...bars, 0)))} per second`,
    caption: `${total} in the last hour. The rows of an import are distributed evenly over its running time.`,
  })
}
