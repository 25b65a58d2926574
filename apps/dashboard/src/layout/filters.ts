import { type Html, html } from '@sluice/html'

/** What is wrong with the times of a filter. */
export const timeProblems = {
  since: 'The first time is not a time.',
  until: 'The second time is not a time.',
} as const

/** Returns the address of a list with the values of a query that are set. */
export function addressOf(path: string, query: Readonly<Record<string, string | undefined>>): string {
  const set = Object.entries(query).filter((pair): pair is [string, string] => Boolean(pair[1]))
  return set.length === 0 ? path : `${path}?${new URLSearchParams(set)}`
}

/** Renders an option of a selector. */
export function option(value: string, label: string, chosen: string | undefined): Html {
  return html`<option value="${value}"${value === chosen && html` selected`}>${label}</option>`
}
