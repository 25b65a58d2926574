import { type ChosenFile, type ColumnChoice, isChosen } from './chosen-file.ts'
import type { Encoding } from './conversion/encodings.ts'
import type { Separator } from './conversion/record-reader.ts'

// The choices for the last file, so that they survive a reload, a dry run, and going back. The tab keeps them until it
// is closed. They have names of columns, and no values.

const storageKey = 'data-import'

interface KeptChoices {
  file: string
  clearMarker: string
  encoding: Encoding
  separator: Separator
  /** Indexes and choices of the columns for which something was chosen. */
  columns: [index: number, column: ColumnChoice][]
}

/** Identifies a file without reading it. The address of the page has the app. */
function nameOf({ name, size, lastModified }: File): string {
  return JSON.stringify([location.pathname, name, size, lastModified])
}

const markerField = () => document.querySelector<HTMLInputElement>('[name=clear_marker]')

/** Keeps the choices for a file in place of those for the last file. */
export function keepChoices({ file, encoding, dialect, columns }: ChosenFile): void {
  const chosen = [...columns.entries()].filter(([, column]) => isChosen(column))
  const kept: KeptChoices = {
    file: nameOf(file),
    clearMarker: markerField()?.value ?? '',
    encoding,
    separator: dialect.separator,
    columns: chosen,
  }
  try {
    sessionStorage.setItem(storageKey, JSON.stringify(kept))
  } catch {
    // The browser has no room for them, or keeps nothing: the page works without them.
  }
}

/** Repeats the kept choices if the file is the same. Returns whether there were any for its columns. */
export function restoreChoices(chosen: ChosenFile): boolean {
  try {
    const kept: KeptChoices | null = JSON.parse(sessionStorage.getItem(storageKey) ?? 'null')
    if (kept?.file !== nameOf(chosen.file)) return false
    if (kept.encoding !== chosen.encoding) chosen.chooseEncoding(kept.encoding)
    if (kept.separator !== chosen.dialect.separator) chosen.chooseSeparator(kept.separator)
    const marker = markerField()
    if (marker?.value === '') marker.value = kept.clearMarker
    const same = kept.columns.filter(([index, { name }]) => chosen.columns[index]?.name === name)
    for (const [index, column] of same) chosen.columns[index] = column
    return same.length > 0
  } catch {
    return false
  }
}
