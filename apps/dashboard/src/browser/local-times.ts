// Shows times in the reader's own time zone and language. Without this script, pages show UTC.
const format = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' })
const titleFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'long' })
const dayFormat = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium' })
const relativeFormat = new Intl.RelativeTimeFormat(undefined, { numeric: 'auto' })

/** Units of time and their lengths in ms. A distance is shown in the longest unit that fits at least once. */
const units: readonly [Intl.RelativeTimeFormatUnit, number][] = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1000],
]

function relative(time: Date): string {
  const distance = time.getTime() - Date.now()
  const [unit, length] = units.find(([, length]) => Math.abs(distance) >= length) ?? (['second', 1000] as const)
  return relativeFormat.format(Math.round(distance / length), unit)
}

/** Rewrites every `<time>` in a part of the page. `data-form` selects a distance or a day instead of day and time. */
export function showLocalTimes(part: ParentNode): void {
  for (const element of part.querySelectorAll('time')) {
    const time = new Date(element.dateTime)
    if (Number.isNaN(time.getTime())) continue
    const { form } = element.dataset
    element.title = titleFormat.format(time)
    element.textContent =
      form === 'distance' ? relative(time) : form === 'day' ? dayFormat.format(time) : format.format(time)
  }
}

showLocalTimes(document)
for (const zone of document.querySelectorAll('[data-zone]')) zone.textContent = format.resolvedOptions().timeZone
