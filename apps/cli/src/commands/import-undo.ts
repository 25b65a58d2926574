import { setTimeout as delay } from 'node:timers/promises'
import { ImportFailedError, type ImportView } from '@sluice/client'
import { readSettings } from '@sluice/config'
import { findAppOfImport, showImport, UndoRefused, undoImport } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, forClients, openClient, withClientOptions } from '../api-client.ts'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { describeImport } from '../import-text.ts'
import { print } from '../output.ts'
import { linkBase, withDatabase } from '../stack.ts'

interface UndoOptions extends ClientOptions {
  dryRun?: true
  wait?: true
}

/** Adds `sluice imports undo` (changes.md §3). */
export function addImportUndoCommand(group: Command): void {
  const undo = withClientOptions(group.command('undo'), forClients)
    .description('take back what an import changed, if it kept its changes, as a new import after all that wait')
    .argument('<import-id>')
    .option('--dry-run', 'count what would be taken back, and change nothing')
    .option('--wait', 'wait until the undo has ended, and show it')
    .action(async (importId: string, options: UndoOptions) => {
      const queued = options.token ? await undoAsClient(importId, options) : await undoAsOperator(importId, options)
      const view = options.wait === true ? await waitForEnd(queued, options) : queued
      print(undo, view, () => describeImport(view))
      if (options.wait === true && view.state !== 'completed') throw new ImportFailedError(view)
    })
}

async function undoAsClient(importId: string, { dryRun, ...options }: UndoOptions): Promise<ImportView> {
  return await (await openClient(options)).undoImport(importId, { dryRun })
}

async function undoAsOperator(importId: string, { dryRun }: UndoOptions): Promise<ImportView> {
  const links = await linkBase()
  const appId = await withDatabase((db) => findAppOfImport(db, importId))
  if (appId === undefined) throw new Failure(`there is no import ${JSON.stringify(importId)}`)
  const settings = readSettings(process.env, ['WAITING_IMPORTS_LIMIT'])
  const view = await withAudit({ appId, what: 'import.undo', target: importId }, async (db) => {
    const undoId = await undoImport({ db, settings }, { appId, importId }, { dryRun })
    return await showImport(db, links, undoId)
  }).catch((error: unknown) => {
    throw error instanceof UndoRefused ? new Failure(`the import cannot be undone: ${error.message}`) : error
  })
  if (view === undefined) throw new Failure('the new import is gone')
  return view
}

/** Pause between two looks at an import that an operator waits for. */
const lookPauseMs = 250

async function waitForEnd({ import_id: importId }: ImportView, options: UndoOptions): Promise<ImportView> {
  if (options.token) return await (await openClient(options)).waitForImport(importId)
  const links = await linkBase()
  return await withDatabase(async (db) => {
    for (;;) {
      const view = await showImport(db, links, importId)
      if (view === undefined) throw new Failure('the new import is gone')
      if (view.finished_at !== null) return view
      await delay(lookPauseMs)
    }
  })
}
