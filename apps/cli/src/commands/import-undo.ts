import type { ImportView } from '@sluice/client'
import { readSettings } from '@sluice/config'
import { undoImport } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, withTypedToken } from '../api-client.ts'
import { requester } from '../audit.ts'
import { asClientOrOperator, changeImport, printImport, waitForEnd } from '../one-import.ts'

interface UndoOptions extends ClientOptions {
  dryRun?: true
  wait?: true
}

/** Adds `sluice imports undo` (changes.md §3, Asking for it). */
export function addImportUndoCommand(group: Command): void {
  const undo = withTypedToken(group.command('undo'))
    .description('take back what an import changed, if it kept its changes, as a new import after all that wait')
    .argument('<import-id>')
    .option('--dry-run', 'count what would be taken back, and change nothing')
    .option('--wait', 'wait until the undo has ended, and show it')
    .action(async (importId: string, options: UndoOptions) => {
      const { dryRun, wait } = options
      const queued = await asClientOrOperator(
        options,
        (client) => client.undoImport(importId, { dryRun }),
        () => undoAsOperator(importId, dryRun),
      )
      await printImport(undo, queued, wait && (() => waitForEnd(queued, options)))
    })
}

async function undoAsOperator(importId: string, dryRun: true | undefined): Promise<ImportView> {
  const settings = readSettings(process.env, ['WAITING_IMPORTS_LIMIT'])
  return await changeImport(importId, { what: 'import.undo', verb: 'undone' }, async (db, id) => ({
    newId: await undoImport({ db, settings }, id, { dryRun, requestedBy: requester() }),
  }))
}
