import { setTimeout as delay } from 'node:timers/promises'
import type { AuditAction, Outcome } from '@sluice/audit-log'
import { ImportFailedError, type ImportView, type Sluice } from '@sluice/client'
import { describeWithErrors, heldImport } from '@sluice/client-cli'
import { Failure } from '@sluice/client-cli/failure'
import type { Database } from '@sluice/database'
import { findAppOfImport, type ImportId, RetryRefused, showImport, UndoRefused } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, openClient } from './api-client.ts'
import { withAudit } from './audit.ts'
import { printLater } from './output.ts'
import { linkBase, withDatabase } from './stack.ts'

/** Works on one import: as a client of the API if a token is typed, otherwise as an operator (design.md §2). */
export async function asClientOrOperator<Result>(
  options: ClientOptions,
  asClient: (client: Sluice) => Promise<Result>,
  asOperator: () => Promise<Result>,
): Promise<Result> {
  return options.token ? await asClient(await openClient(options)) : await asOperator()
}

/** Pause between two reads of an import that an operator waits for. */
const readPauseMs = 250

/** Reads an import in the database, again until it `isReady`. Throws {@link Failure} if there is none. */
export async function readImport(importId: string, isReady = (_: ImportView) => true): Promise<ImportView> {
  const links = await linkBase()
  return await withDatabase(async (db) => {
    for (;;) {
      const found = await showImport(db, links, { appId: 'any', importId })
      if (found === undefined) throw noImport(importId)
      if (isReady(found)) return found
      await delay(readPauseMs)
    }
  })
}

/**
 * Prints an import with its commonest errors, or how it ended if there is a function that waits for its end. Throws
 * {@link Failure} if it is then held, and `ImportFailedError` if it has otherwise not completed.
 */
export async function printImport(
  command: Command,
  begun: ImportView,
  end?: (() => Promise<ImportView>) | undefined,
): Promise<void> {
  const view = (await end?.()) ?? begun
  await printLater(command, view, () => describeWithErrors(view))
  if (end === undefined || view.state === 'completed') return
  throw view.state === 'held' ? heldImport(view, 'sluice import') : new ImportFailedError(view)
}

/** Waits in the database until an import has ended or is held, and returns it. */
export async function readEnd(importId: string): Promise<ImportView> {
  return await readImport(importId, (view) => view.finished_at !== null || view.state === 'held')
}

/** Waits until an import has ended or is held, and returns it. */
export async function waitForEnd({ import_id: importId }: ImportView, options: ClientOptions): Promise<ImportView> {
  return await asClientOrOperator(
    options,
    (client) => client.waitForImport(importId),
    () => readEnd(importId),
  )
}

/** What became of a change of an import. */
interface Changed {
  outcome?: Outcome
  /** Why nothing was changed. */
  refused?: string
  /** The ID of the new import, if the change made one. */
  newId?: string
}

/**
 * Changes an import in the database, and records it in the audit log. `verb` is the word for people, such as
 * `cancelled`.
 *
 * Returns the view of the import, or of the new import. Throws {@link Failure} if there is no such import, or if the
 * change was refused.
 */
export async function changeImport(
  importId: string,
  { what, verb }: { what: AuditAction; verb: string },
  change: (db: Database, id: ImportId) => Promise<Changed>,
): Promise<ImportView> {
  const links = await linkBase()
  const { appId, refused, view } = await withAudit(
    { appId: undefined, what, target: importId },
    async (db) => {
      const appId = await findAppOfImport(db, importId)
      const changed = appId === undefined ? {} : await change(db, { appId, importId }).catch(asRefused)
      return {
        appId,
        ...changed,
        view: await showImport(db, links, { appId: 'any', importId: changed.newId ?? importId }),
      }
    },
    ({ appId, refused, outcome = 'done' }) =>
      appId === undefined ? { outcome: 'refused' } : { appId, outcome: refused === undefined ? outcome : 'refused' },
  )
  if (appId === undefined || view === undefined) throw noImport(importId)
  if (refused !== undefined) throw new Failure(`the import cannot be ${verb}: ${refused}`)
  return view
}

function asRefused(error: unknown): Changed {
  if (error instanceof UndoRefused || error instanceof RetryRefused) return { refused: error.message }
  throw error
}

function noImport(importId: string): Failure {
  return new Failure(`there is no import ${JSON.stringify(importId)}`, 1, 'sluice imports list --all shows the imports')
}
