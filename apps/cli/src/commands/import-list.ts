import { requireApp } from '@sluice/accounts'
import type { ImportSource, ImportState, ImportView } from '@sluice/client'
import { Failure } from '@sluice/client-cli/failure'
import { dateOf } from '@sluice/client-cli/text'
import { importSources, importStates } from '@sluice/contract/answers'
import { type FilterTexts, findImports, parseImportFilter, showImports } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, forClients, openClient, withClientOptions } from '../api-client.ts'
import { printList } from '../output.ts'
import { parseTime, timeForms } from '../parse-time.ts'
import { linkBase, parseAppId, withDatabase } from '../stack.ts'

const listLimit = 1000

interface ListOptions extends ClientOptions, Pick<FilterTexts, 'state' | 'source' | 'text'> {
  app?: number
  since?: Date
  until?: Date
  all?: true
}

/** Adds `sluice imports list` (second-day.md §3, Command line). */
export function addImportListCommand(group: Command): void {
  const list = withClientOptions(group.command('list'), forClients)
    .description(`imports of an app or of all apps, newest request first (at most ${listLimit})`)
    .option('--app <id>', 'imports of this app, for operators', parseAppId)
    .option('--all', 'imports of all apps, for operators')
    .option('--state <state>', 'only imports in this state, such as failed')
    .option('--source <source>', 'only imports of this source: v3, v2, dashboard or bucket')
    .option('--text <text>', 'only imports with this text in the name of their file, or with this ID')
    .option('--since <time>', `only imports requested since this time (${timeForms})`, parseTime)
    .option('--until <time>', 'only imports requested before this time', parseTime)
    .action(async (options: ListOptions) => {
      const isOperator = options.app !== undefined || options.all === true
      const imports = await (isOperator ? listAsOperator(options) : listAsClient(options))
      const shown = imports.map(({ appId, view }) => (appId === undefined ? view : { app_id: appId, ...view }))
      printList(list, shown, imports.map(options.state === 'failed' ? failureRow : summaryRow), 'No imports.')
    })
}

/** An import in the list. `appId` is absent in the list of one app. */
interface Listed {
  appId?: number | undefined
  view: ImportView
}

async function listAsOperator({ app, all, since, until, state, source, text }: ListOptions): Promise<Listed[]> {
  if (app !== undefined && all) throw new Failure('--app and --all exclude each other', 2)
  const filter = parseImportFilter({ state, source, text })
  if ('invalid' in filter) throw new Failure(invalidFilter(filter.invalid), 2)
  const links = await linkBase()
  return await withDatabase(async (db) => {
    if (app !== undefined) await requireApp(db, app)
    const { imports } = await findImports(db, links, { ...filter, appId: app, since, until }, { limit: listLimit })
    const appOf = new Map(imports.map(({ appId, view }) => [view.import_id, appId]))
    const views = await showImports(db, links, { appId: app ?? 'any', importIds: [...appOf.keys()] })
    return views.map((view) => ({ ...(all && { appId: appOf.get(view.import_id) }), view }))
  })
}

function invalidFilter(option: string): string {
  const known = option === 'state' ? importStates : option === 'source' ? importSources : undefined
  return `--${option} ${known === undefined ? 'is not valid' : `must be one of ${known.join(', ')}`}`
}

async function listAsClient({ state, source, text, since, until, ...options }: ListOptions): Promise<Listed[]> {
  const client = await openClient(options, '--app, --all or --token')
  const [other] = Object.entries({ text, since, until }).filter(([, value]) => value !== undefined)
  if (other !== undefined) throw new Failure(`--${other[0]} needs --app or --all`, 2)
  // The API checks the filters. Its error message lists the known values.
  const filters = { state: state as ImportState | undefined, source: source as ImportSource | undefined }
  const listed: Listed[] = []
  for await (const view of client.imports(filters)) {
    listed.push({ view })
    if (listed.length === listLimit) break
  }
  return listed
}

/** Returns a row that begins with what a list of failed imports is read for. */
function failureRow(failed: Listed) {
  const { IMPORT, STATE, ERROR, ...others } = summaryRow(failed)
  return { IMPORT, ERROR, ...others, STATE }
}

function summaryRow({ appId, view }: Listed) {
  return {
    IMPORT: view.import_id,
    ...(appId !== undefined && { APP: String(appId) }),
    STATE: view.state,
    FILE: view.dry_run ? `(dry run) ${view.file_name ?? ''}` : view.file_name,
    ROWS: view.rows_total,
    ERRORS: view.rows_failed,
    REQUESTED: dateOf(view.requested_at),
    APPLIED: view.rows_applied,
    CHANGED: view.rows_changed,
    SOURCE: view.source,
    STARTED: dateOf(view.started_at),
    FINISHED: dateOf(view.finished_at),
    ERROR: view.error,
  }
}
