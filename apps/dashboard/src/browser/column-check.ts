import { fileMessages, serviceErrorsColumn, standardPrefix, userIdColumn } from '@sluice/contract/import-messages'
import { limits } from '@sluice/contract/limits'
import { isOfType, TextInference } from '@sluice/profiles/text-inference'
import type { ValueForm } from './conversion/value-forms.ts'
import type { Preview } from './csv-preview.ts'
import { cut, numberOf } from './elements.ts'

export const types = ['string', 'int', 'decimal', 'datetime'] as const

export type Type = (typeof types)[number]

type Keys<KeyType = Type> = Readonly<Record<string, KeyType>>

/** The settings and choices that decide, together with the file, what an import does with columns. */
export interface ImportRules {
  /** The registered keys of the app. Imports ignore the columns of disabled ones. */
  keys: Keys<Type | 'disabled'>
  /** Whether the app registers new keys, or refuses files that have any. */
  newKeys: 'register' | 'refuse'
  /** A cell with this text removes a value from the profile. Empty if there is no such text. */
  clearMarker: string
  /** The types that a person has chosen for new keys. They are sent with the file. */
  declared: Keys
  /** How the values of columns were written before the conversion, if a person has chosen it. */
  forms?: Keys<ValueForm>
}

/** A warning about the inferred type (second-day.md §1, Warnings). */
export interface Warning {
  message: string
  examples: readonly string[]
}

/** How an import would treat a column. */
export interface ColumnCheck {
  name: string
  /** The registered, chosen or inferred type, or the purpose of a column without a type, in words. */
  type: string
  /** The key is registered, so its type is final. */
  isRegistered: boolean
  /** The import ignores the column; `type` says why. */
  isIgnored: boolean
  /**
   * The type that the import would register for a new key; undefined if no value tells the type yet. A person may
   * choose another type.
   */
  inferred?: Type | undefined
  isNew: boolean
  /** Why the inferred type may be wrong. */
  warnings: readonly Warning[]
  /** Number of rows of the preview whose value does not have the registered or chosen type. */
  misfits: number
  /** The column is a reason to refuse the file. */
  isRefused: boolean
}

/** Whether an import would register the key of a column, as far as the first rows tell. */
export function registersKey({ isNew, isRefused, type }: ColumnCheck): boolean {
  return isNew && !isRefused && types.some((each) => each === type)
}

/** A reason why an import would refuse a file, in the words of the import, and what a person can do about it. */
export interface Refusal {
  message: string
  remedy: string
}

/**
 * Checks the columns of a preview with the rules of the import. `refusals` are all reasons to refuse the whole file.
 * The import itself names only the first reason.
 */
export function checkColumns(
  { header, rows }: Preview,
  rules: ImportRules,
): { columns: ColumnCheck[]; refusals: Refusal[] } {
  const doubled = [...new Set(header.filter((name, index) => name !== '' && header.indexOf(name) !== index))]
  const standard = header.filter((name) => name.startsWith(standardPrefix))
  const long = header.filter((name) => [...name].length > limits.keyLength)
  const refused = new Set([...doubled, ...standard, ...long, ''])
  const columns = header.map((name, index) => {
    const cells = rows.map((row) => row[index] ?? '')
    return { ...checkColumn(name, cells, rules), isRefused: refused.has(name) }
  })
  const isUnknown = ({ name, isNew, isRefused }: ColumnCheck) =>
    isNew && !isRefused && !Object.hasOwn(rules.declared, name)
  const unknown = rules.newKeys === 'refuse' ? columns.filter(isUnknown).map(({ name }) => name) : []
  const refusals = [
    header.includes('') && refusal(fileMessages.emptyColumns, 'Name the key of each column, or leave it out.'),
    doubled.length > 0 &&
      refusal(fileMessages.duplicateColumns(doubled.join(', ')), 'Choose different keys, or leave columns out.'),
    !header.includes(userIdColumn) && refusal(fileMessages.noUserIdColumn, 'Choose the column that has the user IDs.'),
    long.length > 0 &&
      refusal(
        fileMessages.columnsTooLong(long.map((name) => `${name.slice(0, 40)}…`).join(', ')),
        'Choose a shorter key, or leave the column out.',
      ),
    standard.length > 0 &&
      refusal(fileMessages.standardProfiles(standard.join(', ')), 'Choose another key, or leave the column out.'),
    unknown.length > 0 &&
      refusal(
        fileMessages.keysNotRegistered(unknown.join(', ')),
        'This app registers no key by itself: choose a type, or leave the column out.',
      ),
  ].filter((each) => each !== false)
  return { columns, refusals }
}

const formRemedies: ReadonlyMap<string, string> = new Map([
  [fileMessages.empty, 'Choose a file that has rows.'],
  [fileMessages.headerQuote, 'Correct the quotes in the first row, and choose the file again.'],
  [fileMessages.noLineBreak, 'End the first row with a line break, and choose the file again.'],
  [fileMessages.headerTooLarge, 'Leave columns out, or choose shorter keys.'],
])

/** Returns the refusal of a header because of its form. Accepts the message of the import. */
export function formRefusal(message: string): Refusal {
  return refusal(message, formRemedies.get(message) ?? '')
}

function refusal(message: string, remedy: string): Refusal {
  return { message, remedy }
}

function checkColumn(
  name: string,
  cells: readonly string[],
  { keys, clearMarker, declared, forms = {} }: ImportRules,
): Omit<ColumnCheck, 'isRefused'> {
  const column = { name, isRegistered: false, isIgnored: false, isNew: false, misfits: 0, warnings: [] }
  if (name === userIdColumn) return { ...column, type: 'identifies the user' }
  if (name === serviceErrorsColumn)
    return { ...column, type: 'not imported: the reasons of an error file', isIgnored: true }
  const values = cells.filter((value) => value !== '' && value !== clearMarker)
  const misfitsIn = (type: Type) => values.filter((value) => !isOfType(value, type)).length
  const registered = typeIn(keys, name)
  if (registered === 'disabled') return { ...column, type: 'not imported: the key is disabled', isIgnored: true }
  if (registered !== undefined)
    return { ...column, type: registered, isRegistered: true, misfits: misfitsIn(registered) }
  const inference = new TextInference()
  for (const value of values) inference.add(value)
  const inferred = inference.type()
  const chosen = typeIn(declared, name)
  if (chosen !== undefined) return { ...column, type: chosen, inferred, isNew: true, misfits: misfitsIn(chosen) }
  const found = inference.warnings()
  const isUnexplained = inferred === 'string' && found.length === 0
  const warnings = isUnexplained ? misfitWarnings(values, typeIn(forms, name) ?? 'as-is') : found
  return { ...column, type: inferred ?? 'no value yet', inferred, isNew: true, warnings }
}

/** Number and length of the values that a warning shows as examples. */
const shownExamples = 3
const exampleLength = 40

/**
 * Returns which values make a new key a string although a form is chosen for its column: the conversion leaves a value
 * as it is that is not written in the form. `values` are the converted ones. An import infers the type from them, and
 * warns only of few such values.
 */
function misfitWarnings(values: readonly string[], form: ValueForm): Warning[] {
  if (form === 'as-is') return []
  const isOfForm = (value: string) => isOfType(value, form === 'decimal-comma' ? 'decimal' : 'datetime')
  const inference = new TextInference()
  for (const value of values.filter(isOfForm)) inference.add(value)
  const type = inference.type()
  const others = values.filter((value) => !isOfForm(value))
  if (type === undefined || type === 'string' || others.length === 0) return []
  const counted = `${numberOf(others.length)} of ${numberOf(values.length)} values ${others.length === 1 ? 'is' : 'are'}`
  const message = `${counted} not of the type ${type}, so the key becomes a string. If you choose ${type}, such rows are not applied`
  const examples = [...new Set(others)].slice(0, shownExamples).map((value) => cut(value, exampleLength))
  return [{ message, examples }]
}

function typeIn<KeyType>(keys: Keys<KeyType>, name: string): KeyType | undefined {
  return Object.hasOwn(keys, name) ? keys[name] : undefined
}
