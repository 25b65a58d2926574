import { type ColumnChoice, isChosen } from './chosen-file.ts'
import type { Type } from './column-check.ts'
import { type ValueForm, valueForms } from './conversion/value-forms.ts'

// The mapping of columns that an app keeps for files with the same column names. Only names are sent, never values.

/** A kept mapping, and when it was kept. */
export interface KeptMapping {
  columns: readonly ColumnChoice[]
  keptAt: Date
}

/** A column of a mapping, in the form in which the server stores it. */
interface MappedColumn {
  name: string
  key: string
  left_out: boolean
  form: ValueForm
  type?: Type
}

/** Whether a mapping of these columns can be kept. Two columns with the same name prevent it. */
function canBeKept(columns: readonly ColumnChoice[]): boolean {
  return new Set(columns.map(({ name }) => name)).size === columns.length
}

/**
 * Returns the mapping that the app of a form has kept for files with these columns; undefined if there is none or the
 * server does not answer, because a person can do without it.
 */
export async function findMapping(
  form: HTMLFormElement,
  columns: readonly ColumnChoice[],
): Promise<KeptMapping | undefined> {
  if (!canBeKept(columns)) return undefined
  const answer = await post(form, 'find', { columns: namesOf(columns) })
  if (answer?.status !== 200) return undefined
  const found: { mapping: MappedColumn[]; kept_at: string } = await answer.json()
  const mapped = new Map(found.mapping.map((column) => [column.name, column]))
  return { columns: columns.map((column) => withMapping(column, mapped)), keptAt: new Date(found.kept_at) }
}

function withMapping({ name }: ColumnChoice, mapped: ReadonlyMap<string, MappedColumn>): ColumnChoice {
  const column = mapped.get(name)
  const form = column !== undefined && Object.hasOwn(valueForms, column.form) ? column.form : 'as-is'
  return { name, key: column?.key ?? name, isLeftOut: column?.left_out ?? false, form, type: column?.type }
}

/** Whether two mappings of the same columns are equal. */
export function isSameMapping(one: readonly ColumnChoice[], other: readonly ColumnChoice[]): boolean {
  return one.every(({ key, isLeftOut, form, type }, index) => {
    const same = other[index]
    return key === same?.key && isLeftOut === same.isLeftOut && form === same.form && type === same.type
  })
}

/** Keeps the mapping of columns for the next file with the same columns. Failure is no reason not to import. */
export async function keepMapping(form: HTMLFormElement, columns: readonly ColumnChoice[]): Promise<void> {
  if (!canBeKept(columns)) return
  const mapping: MappedColumn[] = columns
    .filter(isChosen)
    .map(({ name, key, isLeftOut, form, type }) => ({ name, key, left_out: isLeftOut, form, ...(type && { type }) }))
  await post(form, 'keep', { columns: namesOf(columns), mapping: JSON.stringify(mapping) })
}

/** Forgets the mapping for files with these columns. Returns whether that worked. */
export async function forgetMapping(form: HTMLFormElement, columns: readonly ColumnChoice[]): Promise<boolean> {
  const answer = await post(form, 'forget', { columns: namesOf(columns) })
  return answer?.ok ?? false
}

function namesOf(columns: readonly ColumnChoice[]): string {
  return JSON.stringify(columns.map(({ name }) => name))
}

/** The longest time that a request may take, ms. */
const patienceMs = 5_000

/** Sends a request about mappings. Returns undefined if there is no answer. */
async function post(
  form: HTMLFormElement,
  what: 'find' | 'keep' | 'forget',
  fields: Record<string, string>,
): Promise<Response | undefined> {
  const token = form.querySelector<HTMLInputElement>('[name=form_token]')?.value ?? ''
  return await fetch(`${form.action}/mappings/${what}`, {
    method: 'POST',
    headers: { 'X-Form-Token': token },
    body: new URLSearchParams(fields),
    signal: AbortSignal.timeout(patienceMs),
  }).catch(() => undefined)
}
