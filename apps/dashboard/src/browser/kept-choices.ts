import { type ChosenFile, type ColumnChoice, isChosen } from './chosen-file.ts'
import type { Encoding } from './conversion/encodings.ts'
import type { Separator } from './conversion/record-reader.ts'

// The choices for the last file, so that they survive a reload, a dry run, and going back. The tab keeps them until it
// is closed. They have names of columns, and no values.

const storageKey = 'data-import'

interface KeptChoices {
  file: string
  /** Values and ticks of the fields below "More options", in their order. */
  options: [value: string, checked: boolean][]
  encoding: Encoding
  separator: Separator
  /** Indexes and choices of the columns for which something was chosen. */
  columns: [index: number, column: ColumnChoice][]
}

/** Identifies a file without reading it. The address of the page has the app. */
function nameOf({ name, size, lastModified }: File): string {
  return JSON.stringify([location.pathname, name, size, lastModified])
}

const optionFields = () => [...document.querySelectorAll<HTMLInputElement>('[data-options] input:not([type=hidden])')]

/** Keeps the choices for a file in place of those for the last file. */
export function keepChoices({ file, encoding, dialect, columns }: ChosenFile): void {
  const chosen = [...columns.entries()].filter(([, column]) => isChosen(column))
  const kept: KeptChoices = {
    file: nameOf(file),
    options: optionFields().map(({ value, checked }) => [value, checked]),
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
    for (const [index, field] of optionFields().entries()) {
      const [value, checked] = kept.options[index] ?? [field.value, field.checked]
      if (field.value === field.defaultValue && field.checked === field.defaultChecked)
        Object.assign(field, { value, checked })
    }
    const same = kept.columns.filter(([index, { name }]) => chosen.columns[index]?.name === name)
    for (const [index, column] of same) chosen.columns[index] = column
    return same.length > 0
  } catch {
    return false
  }
}
