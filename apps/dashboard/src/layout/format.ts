import { type Html, html } from '@sluice/html'

const numbers = new Intl.NumberFormat('en-US')

/** Formats a number with separators: `1,234,567`. */
export function count(value: number): string {
  return numbers.format(value)
}

/** Formats a number with its noun: `1 row`, `2 rows`. The default plural is the singular with an `s`. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

const sizes = ['bytes', 'KB', 'MB', 'GB'] as const

/** Formats a size in bytes: `340 bytes`, `1.5 MB`. A KB has 1,024 bytes, as in the limits of service.md. */
export function bytes(value: number): string {
  const power = Math.min(sizes.length - 1, value < 1 ? 0 : Math.floor(Math.log2(value) / 10))
  const amount = value / 1024 ** power
  return `${count(Math.round(amount * 10) / 10)} ${sizes[power]}`
}

/** Formats a duration in ms: `340 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${count(Math.floor(seconds / 3600))} h ${Math.floor((seconds % 3600) / 60)} min`
}

/**
 * Renders a time in UTC, which a script converts to the reader's time zone. With `distance`, the script shows the
 * distance from now instead; with `day`, only the date is shown.
 */
export function time(moment: Date, form: 'full' | 'distance' | 'day' = 'full'): Html {
  const iso = moment.toISOString()
  const shown = form === 'day' ? iso.slice(0, 10) : `${iso.slice(0, 16).replace('T', ' ')} UTC`
  return html`<time datetime="${iso}" data-form="${form}">${shown}</time>`
}

/**
 * Shortens a stored datetime, which is `YYYY-MM-DD hh:mm:ss.mmm` in UTC. A date without a time is stored as midnight,
 * so a datetime at midnight is shown as its date. Milliseconds of 0 are left out.
 */
export function shortDatetime(stored: string): string {
  return stored.replace(/(?: 00:00:00)?\.000$/, '')
}
