import { requireApp } from '@sluice/accounts'
import { type FilterTexts, findImports, parseImportFilter } from '@sluice/imports'
import type { Command } from 'commander'
import { Failure } from '../failure.ts'
import { print, table } from '../output.ts'
import { linkBase, parseAppId, withDatabase } from '../stack.ts'

const listLimit = 1000

interface ListOptions extends Omit<FilterTexts, 'app'> {
  app?: number
  all?: true
}

/** Adds `sluice imports`. */
export function addImportListCommand(program: Command): void {
  const list = program
    .command('imports')
    .description(`imports of an app or of all apps, newest request first (at most ${listLimit})`)
    .option('--app <id>', 'imports of this app', parseAppId)
    .option('--all', 'imports of all apps')
    .option('--state <state>', 'only imports in this state, such as failed')
    .option('--source <source>', 'only imports of this source: v3, v2, dashboard or bucket')
    .option('--text <text>', 'only imports with this text in the name of their file, or with this ID')
    .option('--since <time>', 'only imports requested since this time (ISO 8601)')
    .option('--until <time>', 'only imports requested before this time (ISO 8601)')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .action(async ({ app, all, ...texts }: ListOptions) => {
      if ((app === undefined) === (all === undefined)) throw new Failure('either --app or --all is needed', 2)
      const filter = parseImportFilter(texts)
      if ('invalid' in filter) throw new Failure(`--${filter.invalid} is not valid`, 2)
      const links = await linkBase()
      const { imports } = await withDatabase(async (db) => {
        if (app !== undefined) await requireApp(db, app)
        return await findImports(db, links, { ...filter, appId: app }, { limit: listLimit })
      })
      const shown = imports.map(({ appId, view }) => (all ? { app_id: appId, ...view } : view))
      print(list, shown, () => table(imports.map(summaryRow), 'No imports.'))
    })
}

function summaryRow({ appId, view }: Awaited<ReturnType<typeof findImports>>['imports'][number]) {
  return {
    IMPORT: view.import_id,
    APP: appId,
    STATE: view.state,
    SOURCE: view.source,
    FILE: view.file_name,
    ROWS: view.rows_total,
    APPLIED: view.rows_applied,
    ERRORS: view.rows_failed,
    REQUESTED: view.requested_at,
  }
}
