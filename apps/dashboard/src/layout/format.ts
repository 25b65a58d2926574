import { type Html, html } from '@sluice/html'

const numbers = new Intl.NumberFormat('en-US')

/** A number with separators: `1,234,567`. */
export function count(value: number): string {
  return numbers.format(value)
}

/** A number and what it counts: `1 row`, `2 rows`. The plural is the singular and an `s` unless it is given. */
export function counted(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`
}

const sizes = ['bytes', 'KiB', 'MiB', 'GiB'] as const

/** A size in bytes as people read it: `340 bytes`, `1.5 MiB`. */
export function bytes(value: number): string {
  const power = Math.min(sizes.length - 1, value < 1 ? 0 : Math.floor(Math.log2(value) / 10))
  const amount = value / 1024 ** power
  return `${power === 0 ? count(amount) : amount.toFixed(1)} ${sizes[power]}`
}

/** How long something takes, ms, as people read it: `340 ms`, `12 s`, `3 min 5 s`, `2 h 10 min`. */
export function duration(milliseconds: number): string {
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`
  const seconds = Math.round(milliseconds / 1000)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  return `${count(Math.floor(seconds / 3600))} h ${Math.floor((seconds % 3600) / 60)} min`
}

/**
 * A moment: in UTC, until a script has put it into the reader's zone. `distance` shows how long ago it is (or will be) then,
 * `day` leaves the hours out.
 */
export function time(moment: Date, form: 'full' | 'distance' | 'day' = 'full'): Html {
  const iso = moment.toISOString()
  const shown = form === 'day' ? iso.slice(0, 10) : `${iso.slice(0, 16).replace('T', ' ')} UTC`
  return html`<time datetime="${iso}" data-form="${form}">${shown}</time>`
}
