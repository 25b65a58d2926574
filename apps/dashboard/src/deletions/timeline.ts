import type { DeletionGroup } from '@sluice/deletions'
import { type Html, html } from '@sluice/html'
import { counted } from '../layout/format.ts'

/** Maximum number of lines of the picture. Later deletions are only in the list of requests. */
const lines = 12

const width = 800
const lineHeight = 26
const headHeight = 34
const dayMs = 24 * 60 * 60 * 1000

/**
 * Draws a line for each day of acceptance. From acceptance to start the users are unchanged; from start to completion
 * they are excluded from campaigns. The name of a month is at its first day, in UTC like all dates.
 */
export function timeline(groups: readonly DeletionGroup[], now: Date): Html {
  const shown = groups.slice(0, lines)
  const from = Math.min(now.getTime(), ...shown.map(({ acceptedAt }) => acceptedAt.getTime())) - 2 * dayMs
  const to = Math.max(now.getTime(), ...shown.map(({ completesAt }) => completesAt.getTime())) + 4 * dayMs
  const x = (moment: Date | number) => Math.round(((Number(moment) - from) / (to - from)) * width * 10) / 10
  const height = headHeight + shown.length * lineHeight + 6
  return html`<figure class="card chart" tabindex="0">
    <svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${described(shown)}">
      ${monthsBetween(from, to).map(
        (month) => html`<line class="grid" x1="${x(month)}" x2="${x(month)}" y1="18" y2="${height}"/>
        <text x="${x(month) + 3}" y="14">${monthName(month)}</text>`,
      )}
      ${shown.map((group, index) => bar(group, headHeight + index * lineHeight, x))}
      <line class="now" x1="${x(now)}" x2="${x(now)}" y1="20" y2="${height}"/>
      <text class="now" x="${x(now) + 3}" y="29">today</text>
    </svg>
    <figcaption class="legend">
      <span><i class="key waiting"></i> accepted, users unchanged</span>
      <span><i class="key excluded"></i> started, excluded from campaigns</span>
      <span><i class="key done"></i> completes</span>
    </figcaption>
    ${groups.length > shown.length && html`<p class="hint">${counted(groups.length - shown.length, 'more day of acceptance is', 'more days of acceptance are')} due later.</p>`}
  </figure>`
}

function bar(
  { acceptedAt, startsAt, completesAt, requests, users }: DeletionGroup,
  y: number,
  x: (moment: Date) => number,
): Html {
  const title = `${day10(acceptedAt)}: ${counted(requests, 'request')}, ${counted(users, 'user')}`
  return html`<g>
    <title>${title}; starts ${day10(startsAt)}, completes ${day10(completesAt)}</title>
    <rect class="waiting" x="${x(acceptedAt)}" y="${y}" width="${Math.max(2, x(startsAt) - x(acceptedAt))}" height="14" rx="3"/>
    <rect class="excluded" x="${x(startsAt)}" y="${y}" width="${Math.max(2, x(completesAt) - x(startsAt))}" height="14" rx="3"/>
    <circle class="done" cx="${x(completesAt)}" cy="${y + 7}" r="6"/>
  </g>`
}

function described(groups: readonly DeletionGroup[]): string {
  const all = groups.map(
    ({ acceptedAt, startsAt, completesAt, users }) =>
      `${counted(users, 'user')} accepted ${day10(acceptedAt)}, starts ${day10(startsAt)}, completes ${day10(completesAt)}`,
  )
  return `Open deletions: ${all.join('; ')}`
}

const day10 = (moment: Date) => moment.toISOString().slice(0, 10)

const names = new Intl.DateTimeFormat('en-GB', { month: 'short', timeZone: 'UTC' })

function monthName(first: number): string {
  const date = new Date(first)
  return date.getUTCMonth() === 0 ? String(date.getUTCFullYear()) : names.format(date)
}

/** Returns the first moments of the months between two times, all in epoch ms. */
function monthsBetween(from: number, to: number): number[] {
  const begin = new Date(from)
  const months: number[] = []
  for (let month = begin.getUTCMonth() + 1; ; month += 1) {
    const first = Date.UTC(begin.getUTCFullYear(), month)
    if (first > to) return months
    months.push(first)
  }
}
