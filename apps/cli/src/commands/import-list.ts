import { requireApp } from '@sluice/accounts'
import type { ImportSource, ImportState, ImportView } from '@sluice/client'
import { type FilterTexts, findImports, parseImportFilter, showImports } from '@sluice/imports'
import { type Command, Option } from 'commander'
import { openClient } from '../api-client.ts'
import { Failure } from '../failure.ts'
import { count, localTime, print, table } from '../output.ts'
import { linkBase, parseAppId, withDatabase } from '../stack.ts'

const listLimit = 1000

interface ListOptions extends Omit<FilterTexts, 'app'> {
  app?: number
  all?: true
  token?: string
  api?: string
}

/** Adds `sluice imports` (second-day.md §3, Command line). */
export function addImportListCommand(program: Command): void {
  const list = program
    .command('imports')
    .description(`imports of an app or of all apps, newest request first (at most ${listLimit})`)
    .option('--app <id>', 'imports of this app, for operators', parseAppId)
    .option('--all', 'imports of all apps, for operators')
    .addOption(new Option('--token <token>', 'API token of the app, for clients of the API').env('SLUICE_TOKEN'))
    .option('--api <url>', 'address of the API; default: API_URL or the running stack')
    .option('--state <state>', 'only imports in this state, such as failed')
    .option('--source <source>', 'only imports of this source: v3, v2, dashboard or bucket')
    .option('--text <text>', 'only imports with this text in the name of their file, or with this ID')
    .option('--since <time>', 'only imports requested since this time (ISO 8601)')
    .option('--until <time>', 'only imports requested before this time (ISO 8601)')
    .action(async (options: ListOptions) => {
      const isOperator = options.app !== undefined || options.all === true
      const imports = await (isOperator ? listAsOperator(options) : listAsClient(options))
      const shown = imports.map(({ appId, view }) => (options.all ? { app_id: appId, ...view } : view))
      print(list, shown, () => table(imports.map(summaryRow), 'No imports.'))
    })
}

/** An import in the list. In a client's list, `appId` is absent, because the token stands for one app. */
interface Listed {
  appId?: number | undefined
  view: ImportView
}

async function listAsOperator({ app, all, token: _, api: __, ...texts }: ListOptions): Promise<Listed[]> {
  if (app !== undefined && all) throw new Failure('--app and --all exclude each other', 2)
  const filter = parseImportFilter(texts)
  if ('invalid' in filter) throw new Failure(`--${filter.invalid} is not valid`, 2)
  const links = await linkBase()
  return await withDatabase(async (db) => {
    if (app !== undefined) await requireApp(db, app)
    const { imports } = await findImports(db, links, { ...filter, appId: app }, { limit: listLimit })
    const appOf = new Map(imports.map(({ appId, view }) => [view.import_id, appId]))
    const views = await showImports(db, links, [...appOf.keys()])
    return views.map((view) => ({ appId: appOf.get(view.import_id), view }))
  })
}

async function listAsClient({ token, api, state, source, ...others }: ListOptions): Promise<Listed[]> {
  if (!token) throw new Failure('--app, --all, or --token (or SLUICE_TOKEN), is missing', 2)
  const [other] = Object.keys(others)
  if (other !== undefined) throw new Failure(`--${other} needs --app or --all`, 2)
  const client = await openClient(api, token)
  // The API checks the filters. Its error message lists the known values.
  const filters = { state: state as ImportState | undefined, source: source as ImportSource | undefined }
  const listed: Listed[] = []
  for await (const view of client.imports(filters)) {
    listed.push({ view })
    if (listed.length === listLimit) break
  }
  return listed
}

function summaryRow({ appId, view }: Listed) {
  return {
    IMPORT: view.import_id,
    ...(appId !== undefined && { APP: appId }),
    STATE: view.dry_run ? `${view.state} (dry run)` : view.state,
    SOURCE: view.source,
    FILE: view.file_name,
    ROWS: count(view.rows_total),
    APPLIED: count(view.rows_applied),
    ERRORS: count(view.rows_failed),
    REQUESTED: localTime(view.requested_at),
  }
}
