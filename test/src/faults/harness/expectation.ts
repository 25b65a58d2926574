import type { ValueType } from '@sluice/contract'
import { applyTable } from '../../imports/model.ts'
import type { ClientApp } from './client.ts'
import { type GeneratedFile, generatedUsers, write } from './generate.ts'

/**
 * Settings that affect the result of an import. All deployments of the fault tests use them, to get many small batches.
 */
export const modelSettings = { batchRows: 50, inferenceRows: 40 }

export interface ExpectedImport {
  state: 'completed' | 'failed' | 'cancelled'
  error: string | null
  rows_total: number
  rows_applied: number
  rows_failed: number
  types: Record<string, string>
  /** Exact bytes, or undefined if there must be no error file. */
  errorFile: Buffer | undefined
}

export interface ExpectedApp {
  imports: ExpectedImport[]
  /** User → key → value. */
  profiles: Record<string, Record<string, string | number>>
  keys: Record<string, ValueType>
}

/** A file, and the number of rows that were read if its import was cancelled. */
export interface RunFile {
  file: GeneratedFile
  cancelledAfter?: number
  /** The lines of the changes file that an undo has read. What they must be is not known here. */
  lines?: number
}

/** Applies files in order to an app that has only users and one profile, as service.md and design.md specify. */
export function expectApp(runs: readonly RunFile[], firstProfile: ClientApp['firstProfile']): ExpectedApp {
  const types = Object.keys(firstProfile).map((key) => [key, 'string'] as const)
  const app: ExpectedApp = { imports: [], profiles: {}, keys: Object.fromEntries(types) }
  for (const [index, user] of generatedUsers.entries()) app.profiles[user] = index === 0 ? { ...firstProfile } : {}
  let before = app.profiles
  for (const { file, cancelledAfter, lines } of runs) {
    if (lines !== undefined) {
      app.profiles = before
      app.imports.push({ ...completed, rows_total: lines, rows_applied: lines, types: app.imports.at(-1)?.types ?? {} })
      continue
    }
    before = { ...app.profiles }
    if (file.refusal !== undefined && cancelledAfter === undefined) {
      app.imports.push(refused(file.refusal))
      continue
    }
    if (cancelledAfter === 0) {
      app.imports.push({ state: 'cancelled', error: null, ...nothing })
      continue
    }
    const world = { users: generatedUsers, keys: new Map(Object.entries(app.keys)) }
    const { header, rows } = file.table
    const read = cancelledAfter ?? rows.length
    const applied = applyTable(file.table, world, { ...modelSettings, appliedRows: read })
    if (!file.dryRun) {
      app.keys = Object.fromEntries(applied.keys)
      for (const [user, values] of applied.profiles)
        app.profiles[user] = { ...app.profiles[user], ...Object.fromEntries(values) }
    }
    const errors = applied.errors.map(({ messages, cells }) => [Buffer.from(messages), ...cells])
    app.imports.push({
      state: cancelledAfter === undefined ? 'completed' : 'cancelled',
      error: null,
      rows_total: read,
      rows_applied: file.dryRun ? 0 : applied.applied,
      rows_failed: errors.length,
      types: Object.fromEntries(applied.types),
      errorFile: errors.length === 0 ? undefined : write({ header: ['SERVICE_ERRORS', ...header], rows: errors }),
    })
  }
  return app
}

function refused(error: string): ExpectedImport {
  return { state: 'failed', error, ...nothing }
}

const completed = { state: 'completed', error: null, rows_failed: 0, errorFile: undefined } as const
const nothing = { rows_total: 0, rows_applied: 0, rows_failed: 0, types: {}, errorFile: undefined }
