import { requireApp } from '@sluice/accounts'
import type { ImportView, ImportWarning, NewKeys } from '@sluice/contract'
import { cancelImport, listImports, showImport } from '@sluice/imports'
import { type Command, Option } from 'commander'
import { Failure } from '../failure.ts'
import { type UploadOptions, uploadFile, waitForEnd } from '../import-client.ts'
import { type ImportFilters, readImports } from '../list-client.ts'
import { fields, print, table } from '../output.ts'
import { apiUrl, linkBase, parseAppId, withDatabase } from '../stack.ts'
import { newKeysOption } from './app-settings.ts'
import { keyAndType } from './keys.ts'

const listLimit = 1000

/** Adds `sluice import FILE`, `sluice imports`, `sluice import show` and `sluice import cancel`. */
export function addImportCommands(program: Command): void {
  const importCommand = program
    .command('import')
    .description('upload a CSV file (plain or .gz) as a client of the API')
    .argument('<file>')
    .addOption(new Option('--token <token>', 'API token of the app').env('SLUICE_TOKEN'))
    .option('--api <url>', 'address of the API; default: API_URL or the running stack')
    .option('--wait', 'wait until the import has ended, and show it')
    .option('--dry-run', 'check the whole file and report errors, but apply nothing')
    .option('--type <key=type>', 'declare the type of a column, for example zip=string; may be repeated', addType, {})
    .addOption(
      newKeysOption('what to do with columns that are neither registered nor declared; default: as set for the app'),
    )
    .option('--clear-marker <text>', "a cell with this text removes the key from the user's profile")
    .option('--app <id>', 'refuse a token of another app', parseAppId)
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async (file: string, options: ImportOptions) => {
      const api = await apiUrl(options.api)
      const token = checkToken(options)
      const importId = await uploadFile(api, token, file, uploadOptions(options))
      if (options.wait !== true) return print(importCommand, { import_id: importId }, () => `Import ${importId}`)
      const ended = await waitForEnd(api, token, importId)
      print(importCommand, ended, () => describe(ended))
      if (ended.state !== 'completed') throw new Failure(`the import ${endOf(ended)}`)
    })

  const show = importCommand
    .command('show')
    .description('show one import')
    .argument('<import-id>')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async (importId: string) => {
      const links = await linkBase()
      const found = await withDatabase((db) => showImport(db, links, importId))
      if (found === undefined) throw new Failure(`there is no import ${JSON.stringify(importId)}`)
      print(show, found, () => describe(found))
    })

  const cancel = importCommand
    .command('cancel')
    .description('cancel an import that waits or runs; rows applied so far stay applied')
    .argument('<import-id>')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async (importId: string) => {
      const links = await linkBase()
      const [cancellation, view] = await withDatabase(async (db) => [
        await cancelImport(db, importId),
        await showImport(db, links, importId),
      ])
      if (cancellation.outcome === 'ended')
        throw new Failure(`the import cannot be cancelled: it has ${cancellation.state} already`)
      if (view === undefined) throw new Failure(`there is no import ${JSON.stringify(importId)}`)
      print(cancel, view, () => describe(view))
    })

  const list = program
    .command('imports')
    .description(`imports of an app, newest first (at most ${listLimit})`)
    .option('--app <id>', 'ID of the app, for operators', parseAppId)
    .addOption(new Option('--token <token>', 'API token of the app, for clients of the API').env('SLUICE_TOKEN'))
    .option('--api <url>', 'address of the API; default: API_URL or the running stack')
    .option('--state <state>', 'only imports in this state (with --token)')
    .option('--source <route>', 'only imports of this upload route (with --token)')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async (options: ListOptions) => {
      const imports = await (options.app === undefined ? listAsClient(options) : listAsOperator(options.app))
      print(list, imports, () => table(imports.map(summaryRow), 'No imports.'))
    })
}

interface ListOptions extends ImportFilters {
  app?: number
  token?: string
  api?: string
}

async function listAsOperator(app: number): Promise<ImportView[]> {
  const links = await linkBase()
  return await withDatabase(async (db) => {
    await requireApp(db, app)
    return await listImports(db, links, app, listLimit)
  })
}

async function listAsClient({ token, api, ...filters }: ListOptions): Promise<ImportView[]> {
  if (!token) throw new Failure('--app, or --token (or SLUICE_TOKEN), is missing', 2)
  return await readImports(await apiUrl(api), token, filters, listLimit)
}

interface ImportOptions {
  token?: string
  api?: string
  wait?: true
  dryRun?: true
  type: Readonly<Record<string, string>>
  newKeys?: NewKeys
  clearMarker?: string
  app?: number
}

/** Adds a declared type to those of preceding options. A key that is declared twice must have the same type. */
function addType(pair: string, preceding: Readonly<Record<string, string>>): Record<string, string> {
  const { key, type } = keyAndType(pair)
  if (Object.hasOwn(preceding, key) && preceding[key] !== type) throw new Failure(`${key} has two types`, 2)
  return Object.fromEntries([...Object.entries(preceding), [key, type]])
}

function uploadOptions({ dryRun, type, newKeys, clearMarker }: ImportOptions): UploadOptions {
  return {
    ...(dryRun && { dry_run: true }),
    ...(Object.keys(type).length > 0 && { profile_types: type }),
    ...(newKeys !== undefined && { new_keys: newKeys }),
    ...(clearMarker !== undefined && { clear_marker: clearMarker }),
  }
}

/** Returns how an import that did not complete has ended, in words. */
function endOf({ state, error }: ImportView): string {
  if (state === 'cancelled') return 'was cancelled'
  return `has ${state}: ${error ?? 'no file arrived'}`
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

function describe(view: ImportView): string {
  const facts = fields({
    Import: view.import_id,
    File: view.file_name,
    State: view.state,
    'Rows read': view.rows_total,
    ...(view.dry_run
      ? { 'Dry run': 'nothing is applied' }
      : { 'Rows applied': view.rows_applied, 'Rows changed': view.rows_changed }),
    'Rows with errors': view.rows_failed,
    Error: view.error,
    'Error file': view.error_file_url,
    ...(view.error_file_ends_before_row !== undefined && {
      'Error file ends before row': view.error_file_ends_before_row,
    }),
    Types: Object.entries(view.types)
      .map(([key, type]) => `${key}: ${type}`)
      .join(', '),
    Requested: view.requested_at,
    Started: view.started_at,
    Finished: view.finished_at,
  })
  return view.warnings.length === 0 ? facts : `${facts}\n\n${table(view.warnings.map(warningRow), '')}`
}

function warningRow({ key, message, examples }: ImportWarning) {
  return { KEY: key, WARNING: message, EXAMPLES: examples.join(', ') }
}

function summaryRow(view: ImportView) {
  return {
    IMPORT: view.import_id,
    STATE: view.state,
    SOURCE: view.source,
    FILE: view.file_name,
    ROWS: view.rows_total,
    APPLIED: view.rows_applied,
    ERRORS: view.rows_failed,
    REQUESTED: view.requested_at,
  }
}
