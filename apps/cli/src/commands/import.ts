import { outcomeOf } from '@sluice/audit-log'
import { ImportFailedError, type ImportOptions as UploadOptions, type ValueType } from '@sluice/client'
import type { NewKeys } from '@sluice/contract'
import { cancelImport, findAppOfImport, showImport } from '@sluice/imports'
import { type Command, Option } from 'commander'
import { openClient } from '../api-client.ts'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { describeImport } from '../import-text.ts'
import { count, print } from '../output.ts'
import { linkBase, parseAppId, withDatabase } from '../stack.ts'
import { uploadFile } from '../upload-file.ts'
import { watchImport } from '../watch-import.ts'
import { newKeysOption } from './app-settings.ts'
import { addImportListCommand } from './import-list.ts'
import { addImportRetryCommand } from './import-retry.ts'
import { keyAndType } from './keys.ts'

/**
 * Adds `sluice import FILE`, `sluice imports`, `sluice import show`, `sluice import cancel` and `sluice import retry`
 * (second-day.md §1, Command line).
 */
export function addImportCommands(program: Command): void {
  const importCommand = program
    .command('import')
    .description('upload a CSV file (plain or .gz) as a client of the API')
    .argument('<file>')
    .addOption(new Option('--token <token>', 'API token of the app').env('SLUICE_TOKEN'))
    .option('--api <url>', 'address of the API; default: API_URL or the running stack')
    .option('--wait', 'wait until the import has ended, and show it')
    .option('--fail-on-errors', 'with --wait: exit code 1 if any row has an error')
    .option('--dry-run', 'check the whole file and report errors, but apply nothing')
    .option('--type <key=type>', 'declare the type of a column, for example zip=string; may be repeated', addType, {})
    .addOption(
      newKeysOption('what to do with columns that are neither registered nor declared; default: as set for the app'),
    )
    .option('--clear-marker <text>', "a cell with this text removes the key from the user's profile")
    .option('--app <id>', 'refuse a token of another app', parseAppId)
    .action(async (file: string, options: ImportOptions) => {
      const client = await openClient(options.api, checkToken(options))
      const importId = await uploadFile(client, file, uploadOptions(options))
      if (options.wait !== true) return print(importCommand, { import_id: importId }, () => `Import ${importId}`)
      const ended = await watchImport(client, importId)
      print(importCommand, ended, () => describeImport(ended))
      if (ended.state !== 'completed') throw new ImportFailedError(ended)
      if (options.failOnErrors && ended.rows_failed > 0)
        throw new Failure(`${count(ended.rows_failed)} rows have errors`)
    })

  addShowCommand(importCommand)
  addCancelCommand(importCommand)
  addImportRetryCommand(importCommand)
  addImportListCommand(program)
}

function addShowCommand(importCommand: Command): void {
  const show = importCommand
    .command('show')
    .description('show one import')
    .argument('<import-id>')
    .action(async (importId: string) => {
      const links = await linkBase()
      const found = await withDatabase((db) => showImport(db, links, importId))
      if (found === undefined) throw new Failure(`there is no import ${JSON.stringify(importId)}`)
      print(show, found, () => describeImport(found))
    })
}

function addCancelCommand(importCommand: Command): void {
  const cancel = importCommand
    .command('cancel')
    .description('cancel an import that waits or runs; rows applied so far stay applied')
    .argument('<import-id>')
    .action(async (importId: string) => {
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
      print(cancel, view, () => describeImport(view))
    })
}

interface ImportOptions {
  token?: string
  api?: string
  wait?: true
  failOnErrors?: true
  dryRun?: true
  type: Readonly<Record<string, string>>
  newKeys?: NewKeys
  clearMarker?: string
  app?: number
}

/** Adds a declared type to the types of the preceding options. A key that is declared twice must have the same type. */
function addType(pair: string, preceding: Readonly<Record<string, string>>): Record<string, string> {
  const { key, type } = keyAndType(pair)
  if (Object.hasOwn(preceding, key) && preceding[key] !== type) throw new Failure(`${key} has two types`, 2)
  return Object.fromEntries([...Object.entries(preceding), [key, type]])
}

function uploadOptions({ dryRun, type, newKeys, clearMarker }: ImportOptions): UploadOptions {
  return {
    dryRun,
    // The API checks the types. Its error message lists the known types.
    ...(Object.keys(type).length > 0 && { profileTypes: type as Record<string, ValueType> }),
    newKeys,
    clearMarker,
  }
}

/**
 * Returns the token. A token contains the ID of its app, so a token of another app is refused without uploading
 * anything.
 */
function checkToken({ token, app }: ImportOptions): string {
  if (!token) throw new Failure('--token (or SLUICE_TOKEN) is missing', 2)
  if (app !== undefined && !token.startsWith(`slc_${app}_`))
    throw new Failure(`the token does not belong to app ${app}`)
  return token
}
