import { outcomeOf } from '@sluice/audit-log'
import { ImportFailedError, type ImportView, type ImportOptions as UploadOptions, type ValueType } from '@sluice/client'
import type { HoldIf, NewKeys } from '@sluice/contract'
import { cancelImport, findAppOfImport, showImport } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, openClient, withClientOptions, withTypedToken } from '../api-client.ts'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { describeErrors, describeImport } from '../import-text.ts'
import { count, print } from '../output.ts'
import { linkBase, parseAppId, withDatabase } from '../stack.ts'
import { uploadFile } from '../upload-file.ts'
import { watchImport } from '../watch-import.ts'
import { holdIfOption, newKeysOption } from './app-settings.ts'
import { addImportApproveCommand } from './import-approve.ts'
import { addImportListCommand } from './import-list.ts'
import { addImportRetryCommand } from './import-retry.ts'
import { addImportUndoCommand } from './import-undo.ts'
import { keyAndType } from './keys.ts'

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
      const importId = await uploadFile(client, file, uploadOptions(options))
      if (options.wait !== true) return print(create, { import_id: importId }, () => `Import ${importId}`)
      const ended = await watchImport(client, importId, file)
      const errors = create.optsWithGlobals<{ json?: boolean }>().json ? '' : await describeErrors(ended)
      print(create, ended, () => `${describeImport(ended)}${errors}`)
      if (ended.state !== 'completed') throw new ImportFailedError(ended)
      if (options.failOnErrors && ended.rows_failed > 0)
        throw new Failure(`${count(ended.rows_failed)} rows have errors`)
    })
}

function addShowCommand(group: Command): void {
  const show = withTypedToken(group.command('show'))
    .description('show one import')
    .argument('<import-id>')
    .action(async (importId: string, options: ClientOptions) => {
      const found = options.token
        ? await (await openClient(options)).showImport(importId)
        : await showAsOperator(importId)
      print(show, found, () => describeImport(found))
    })
}

async function showAsOperator(importId: string): Promise<ImportView> {
  const links = await linkBase()
  const found = await withDatabase((db) => showImport(db, links, importId))
  if (found === undefined) throw new Failure(`there is no import ${JSON.stringify(importId)}`)
  return found
}

function addCancelCommand(group: Command): void {
  const cancel = withTypedToken(group.command('cancel'))
    .description('cancel an import that waits, runs or is held; rows applied so far stay applied')
    .argument('<import-id>')
    .action(async (importId: string, options: ClientOptions) => {
      const view = options.token
        ? await (await openClient(options)).cancelImport(importId)
        : await cancelAsOperator(importId)
      print(cancel, view, () => describeImport(view))
    })
}

async function cancelAsOperator(importId: string): Promise<ImportView> {
  const links = await linkBase()
  const [cancellation, view] = await withAudit(
    { appId: undefined, what: 'import.cancel', target: importId },
    async (db) => {
      const app = await findAppOfImport(db, importId)
      return [await cancelImport(db, importId), await showImport(db, links, importId), app] as const
    },
    ([ended, , app]) => ({
      outcome: ended.outcome === 'cancelled' ? outcomeOf(ended.isNew) : 'refused',
      ...(app !== undefined && { appId: app }),
    }),
  )
  if (cancellation.outcome === 'ended')
    throw new Failure(`the import cannot be cancelled: it has ${cancellation.state} already`)
  if (view === undefined) throw new Failure(`there is no import ${JSON.stringify(importId)}`)
  return view
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

/** Adds a declared type to the types of the preceding options. A key that is declared twice must have the same type. */
function addType(pair: string, preceding: Readonly<Record<string, string>> = {}): Record<string, string> {
  const { key, type } = keyAndType(pair)
  if (Object.hasOwn(preceding, key) && preceding[key] !== type) throw new Failure(`${key} has two types`, 2)
  return Object.fromEntries([...Object.entries(preceding), [key, type]])
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
