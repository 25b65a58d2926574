import type { ValueType } from '@sluice/contract'

/**
 * The file of an import. `applyTable` applies it in memory, written for clarity alone: the oracle of the property
 * tests.
 */
export interface Table {
  header: string[]
  rows: Buffer[][]
}

export interface World {
  users: string[]
  keys: Map<string, ValueType>
  /** Default: no user has a value. */
  profiles?: Expected['profiles']
}

export interface Expected {
  types: Map<string, ValueType>
  keys: Map<string, ValueType>
  profiles: Map<string, Map<string, string | number>>
  /** The error file without its header: the messages, then the other cells. */
  errors: { messages: string; cells: Buffer[] }[]
  applied: number
}

/** The settings and the request's options that affect the outcome of an import. */
export interface Rules {
  batchRows: number
  inferenceRows: number
  declared?: Readonly<Record<string, ValueType>>
  /** Number of rows that are applied. The others only take part in the inference of types. Default: all rows. */
  appliedRows?: number
  clearMarker?: string | undefined
}

/** Applies a table to a world as service.md and design.md §3 specify. */
export function applyTable(
  { header, rows: lines }: Table,
  { users, keys, profiles: before }: World,
  { batchRows, inferenceRows, declared = {}, appliedRows = lines.length, clearMarker }: Rules,
): Expected {
  const rows = lines.filter((cells) => cells.some(({ length }) => length > 0))
  const end = Math.min(rows.length, appliedRows)
  const columns = header.map((name, index) => ({ name, index })).filter(({ name }) => !reserved.includes(name))
  const userAt = header.indexOf('user_id')
  const types = new Map<string, ValueType>()
  const registered = new Map(keys)
  const valuesOf = (index: number, some: Buffer[][]) =>
    some.flatMap((row) => textOf(row[index]) ?? []).filter((text) => text !== '' && text !== clearMarker)
  const settle = (some: Buffer[][]) => {
    for (const { name, index } of columns) {
      const ofSender = Object.hasOwn(declared, name) ? declared[name] : undefined
      const type = registered.get(name) ?? ofSender ?? types.get(name) ?? infer(valuesOf(index, some))
      if (type !== undefined) types.set(name, type)
    }
  }
  settle(rows.slice(0, inferenceRows))

  const profiles: Expected['profiles'] = new Map(users.map((user) => [user, new Map(before?.get(user))]))
  const errors: Expected['errors'] = []
  for (let start = 0; start < end; start += batchRows) {
    const batch = rows.slice(start, start + batchRows)
    settle(batch)
    for (const row of batch.slice(0, end - start)) {
      const messages: string[] = row.length > header.length ? ['too many values'] : []
      const values: [string, string | number | undefined][] = []
      for (const [index, name] of header.entries()) {
        const cell = row[index] ?? Buffer.alloc(0)
        if (index === userAt) messages.push(...userMessages(cell, users))
        else if (!reserved.includes(name) && clearMarker !== undefined && textOf(cell) === clearMarker) {
          values.push([name, undefined])
        } else if (!reserved.includes(name) && cell.length > 0) {
          const value = parse(cell, types.get(name) ?? 'string')
          if (typeof value === 'object') messages.push(`${name} ${value.wrong}`)
          else values.push([name, value])
        }
      }
      if (messages.length > 0) {
        errors.push({ messages: messages.join(', '), cells: errorCells(header, row) })
        continue
      }
      for (const [name, value] of values) {
        const profile = profiles.get(textOf(row[userAt]) ?? '')
        if (value === undefined) profile?.delete(name)
        else {
          registered.set(name, types.get(name) ?? 'string')
          profile?.set(name, value)
        }
      }
    }
  }
  return { types, keys: registered, profiles, errors, applied: end - errors.length }
}

const reserved = ['user_id', 'SERVICE_ERRORS']

function userMessages(cell: Buffer, users: string[]): string[] {
  const text = textOf(cell)
  if (text === undefined) return ['user_id should be UTF-8']
  return users.includes(text) ? [] : ['user_id is unregistered user']
}

/** Returns a row as the error file holds it: missing cells are empty, the uploaded SERVICE_ERRORS is left out. */
function errorCells(header: string[], row: Buffer[]): Buffer[] {
  const known = header.flatMap((name, index) => (name === 'SERVICE_ERRORS' ? [] : [row[index] ?? Buffer.alloc(0)]))
  return [...known, ...row.slice(header.length)]
}

function textOf(cell: Buffer | undefined): string | undefined {
  if (cell === undefined) return ''
  try {
    const text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(cell)
    return text.includes('\0') ? undefined : text
  } catch {
    return undefined
  }
}

function infer(values: string[]): ValueType | undefined {
  if (values.length === 0) return undefined
  if (values.every((value) => datetime(value) !== undefined)) return 'datetime'
  const areNumbers = values.every((value) => !value.startsWith('+') && decimal(value) !== undefined)
  if (areNumbers && values.every((value) => integer(value) !== undefined)) return 'int'
  return areNumbers && values.some((value) => value.includes('.')) ? 'decimal' : 'string'
}

function parse(cell: Buffer, type: ValueType): string | number | { wrong: string } {
  const text = textOf(cell)
  if (text === undefined) return { wrong: 'should be UTF-8' }
  switch (type) {
    case 'string':
      return [...text].length > 255 ? { wrong: 'should be at most 255 characters' } : text
    case 'int':
      return integer(text) ?? { wrong: 'should be integer' }
    case 'decimal':
      return decimal(text) ?? { wrong: 'should be decimal' }
    case 'datetime':
      return datetime(text) ?? { wrong: 'should be iso8601 format' }
  }
}

function integer(text: string): number | undefined {
  const ok = /^[+-]?\d+$/.test(text) && Number.isSafeInteger(Number(text))
  return ok ? Number(text) + 0 : undefined
}

function decimal(text: string): number | undefined {
  if (/^[+-]?\d+$/.test(text)) return integer(text)
  const ok = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(text) && Number.isFinite(Number(text))
  return ok ? Number(text) + 0 : undefined
}

function datetime(text: string): string | undefined {
  const form = /^(\d{4}-\d\d-\d\d)(?:T(\d\d:\d\d)(?::(\d\d)(?:[.,](\d+))?)?(Z|[+-]\d\d(?::\d\d)?)?)?$/
  const [, date = '', time = '00:00', seconds = '00', fraction = '', offset = 'Z'] = form.exec(text) ?? []
  const offsetText = offset === 'Z' || offset.includes(':') ? offset : `${offset}:00`
  const local = `${date}T${time}:${seconds}.${fraction.padEnd(3, '0').slice(0, 3)}`
  const roundTrip = new Date(`${local}Z`)
  if (Number.isNaN(roundTrip.getTime()) || !roundTrip.toISOString().startsWith(`${date}T${time}`)) return undefined
  const utc = new Date(local + offsetText)
  return Number.isNaN(utc.getTime()) ? undefined : utc.toISOString().replace('T', ' ').replace('Z', '')
}
