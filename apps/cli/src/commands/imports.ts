import { outcomeOf } from '@sluice/audit-log'
import type { ImportView, ImportOptions as UploadOptions, ValueType } from '@sluice/client'
import { addType, runImport } from '@sluice/client-cli'
import { Failure } from '@sluice/client-cli/failure'
import { type HoldIf, type NewKeys, unfinishedImportStates } from '@sluice/contract'
import { cancelImport, cancelMany, findImportsToCancel } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, openClient, withClientOptions, withTypedToken } from '../api-client.ts'
import { asClientOrOperator, changeImport, printImport, readImport } from '../one-import.ts'
import { printLater } from '../output.ts'
import { parseAppId } from '../stack.ts'
import { holdIfOption, newKeysOption } from './app-settings.ts'
import { addImportApproveCommand } from './import-approve.ts'
import { addImportListCommand } from './import-list.ts'
import { type ManyOptions, oneOrAll, runMany, withManyOptions } from './import-many.ts'
import { addImportRetryCommand } from './import-retry.ts'
import { addImportUndoCommand } from './import-undo.ts'

/** Adds the verbs of `sluice imports` (second-day.md §1, Command line). */
export function addImportCommands(group: Command): void {
  addCreateCommand(group)
  addImportListCommand(group)
  addShowCommand(group)
  addCancelCommand(group)
  addImportApproveCommand(group)
  addImportRetryCommand(group)
  addImportUndoCommand(group)
}

function addCreateCommand(group: Command): void {
  const create = withClientOptions(group.command('create'))
    .description('upload a CSV file (plain or .gz) as a client of the API')
    .argument('<file>')
    .option('--wait', 'wait until the import has ended or is held, and show it')
    .option('--fail-on-errors', 'with --wait: exit code 1 if any row has an error')
    .option('--dry-run', 'check the whole file and report errors, but apply nothing')
    .option('--type <key=type>', 'declare the type of a column, for example zip=string; may be repeated', addType)
    .addOption(
      newKeysOption('what to do with columns that are neither registered nor declared; default: as set for the app'),
    )
    .option('--keep-changes', 'keep what each row changes, to see it and to undo the import')
    .addOption(holdIfOption('check the file first, and hold the import for approval'))
    .option('--clear-marker <text>', "a cell with this text removes the key from the user's profile")
    .option('--app <id>', 'refuse a token of another app', parseAppId)
    .action(async (file: string, options: ImportOptions) => {
      checkApp(options)
      const client = await openClient(options)
      const { wait, failOnErrors } = options
      const settings = { upload: uploadOptions(options), wait, failOnErrors, program: 'sluice import' }
      await runImport(client, file, settings, (document, text) => printLater(create, document, text))
    })
}

function addShowCommand(group: Command): void {
  const show = withTypedToken(group.command('show'))
    .description('show one import')
    .argument('<import-id>')
    .action(async (importId: string, options: ClientOptions) => {
      const found = await asClientOrOperator(
        options,
        (client) => client.showImport(importId),
        () => readImport(importId),
      )
      await printImport(show, found)
    })
}

function addCancelCommand(group: Command): void {
  const command = withTypedToken(group.command('cancel'))
    .description('cancel imports that wait, run or are held; rows applied so far stay applied')
    .argument('[import-id]')
  const cancel = withManyOptions(command, unfinishedImportStates, 'requested').action(
    async (given: string | undefined, options: ClientOptions & ManyOptions) => {
      const importId = oneOrAll(given, options)
      if (importId === undefined) return await cancelAll(cancel, options)
      const view = await asClientOrOperator(
        options,
        (client) => client.cancelImport(importId),
        () => cancelAsOperator(importId),
      )
      await printImport(cancel, view)
    },
  )
}

async function cancelAll(command: Command, options: ManyOptions): Promise<void> {
  const { state, app: appId, since, until } = options
  const states = unfinishedImportStates.filter((each) => state === undefined || each === state)
  if (states.length === 0) throw new Failure(`--state must be one of ${unfinishedImportStates.join(', ')}`, 2)
  await runMany(command, options, {
    verb: 'cancel',
    what: 'import.cancel',
    find: (db) => findImportsToCancel(db, { states, appId, since, until }),
    run: async (db, imports, { dryRun }) =>
      dryRun
        ? imports.map(({ importId }) => ({ import_id: importId, retry_id: null, reason: null }))
        : await cancelMany(db, imports),
  })
}

async function cancelAsOperator(importId: string): Promise<ImportView> {
  return await changeImport(importId, { what: 'import.cancel', verb: 'cancelled' }, async (db, id) => {
    const cancellation = await cancelImport(db, id)
    if (cancellation.outcome === 'cancelled') return { outcome: outcomeOf(cancellation.isNew) }
    return cancellation.outcome === 'ended' ? { refused: `it has ${cancellation.state} already` } : {}
  })
}

interface ImportOptions extends ClientOptions {
  wait?: true
  failOnErrors?: true
  dryRun?: true
  type?: Readonly<Record<string, string>>
  newKeys?: NewKeys
  keepChanges?: true
  holdIf?: HoldIf
  clearMarker?: string
  app?: number
}

function uploadOptions({ dryRun, type, newKeys, keepChanges, holdIf, clearMarker }: ImportOptions): UploadOptions {
  return {
    dryRun,
    // The API checks the types. Its error message lists the known types.
    profileTypes: type as Record<string, ValueType> | undefined,
    newKeys,
    keepChanges,
    holdIf,
    clearMarker,
  }
}

/** Refuses a token of another app before anything is uploaded: a token contains the ID of its app. */
function checkApp({ token, app }: ImportOptions): void {
  if (token && app !== undefined && !token.startsWith(`slc_${app}_`))
    throw new Failure(`the token does not belong to app ${app}`)
}
