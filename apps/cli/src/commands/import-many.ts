import { type AuditAction, auditedByApp, targetOfMany } from '@sluice/audit-log'
import { Failure } from '@sluice/client-cli/failure'
import { table } from '@sluice/client-cli/text'
import type { Database } from '@sluice/database'
import type { ImportId, ManyFilter, OneOfMany } from '@sluice/imports'
import type { Command } from 'commander'
import { ask } from '../ask.ts'
import { cliUser, withAudit } from '../audit.ts'
import { print } from '../output.ts'
import { parseTime, timeForms } from '../parse-time.ts'
import { parseAppId, withDatabase } from '../stack.ts'

export interface ManyOptions extends Pick<ManyFilter, 'since' | 'until'> {
  all?: true
  state?: string
  app?: number
  dryRun?: true
  yes?: true
}

/** What a command does with many imports. */
interface ManyAction {
  /** The word for people, such as `retry`. */
  verb: string
  what: AuditAction
  find: (db: Database) => Promise<ImportId[]>
  /** Does it to imports of one app. With `dryRun`, only says to which it could be done. */
  run: (db: Database, imports: readonly ImportId[], how: { dryRun: boolean }) => Promise<OneOfMany[]>
}

/** Adds the options of a command for many imports. `times` says what `--since` and `--until` compare. */
export function withManyOptions(command: Command, states: readonly string[], times: string): Command {
  return command
    .option('--all', 'many imports, for operators')
    .option('--state <state>', `with --all: only imports in this state: ${states.join(', ')}`)
    .option('--app <id>', 'with --all: only imports of this app', parseAppId)
    .option('--since <time>', `with --all: only imports ${times} since this time (${timeForms})`, parseTime)
    .option('--until <time>', `with --all: only imports ${times} before this time`, parseTime)
    .option('--dry-run', 'with --all: only list the imports')
    .option('--yes', 'with --all: do not ask')
}

/** Returns the ID of the command's one import; undefined for many. Refuses a command that names both, or neither. */
export function oneOrAll(importId: string | undefined, options: ManyOptions): string | undefined {
  if (options.all && importId !== undefined) throw new Failure('--all and the ID of an import exclude each other', 2)
  if (options.all) return undefined
  if (importId === undefined) throw new Failure('the ID of an import is missing, or --all', 2)
  const { state, app, since, until, dryRun, yes } = options
  if ([state, app, since, until, dryRun, yes].some((value) => value !== undefined))
    throw new Failure('--state, --app, --since, --until, --dry-run and --yes need --all', 2)
  return importId
}

/** Does an action to many imports, after asking for it, and prints what became of each (changes.md §6). */
export async function runMany(command: Command, options: ManyOptions, action: ManyAction): Promise<void> {
  const imports = await withDatabase(action.find)
  const results = imports.length === 0 ? [] : await runOn(imports, options, action)
  const appOf = new Map(imports.map(({ importId, appId }) => [importId, appId]))
  // A dry run makes no imports, and there is seldom a reason.
  const hasSome = (name: 'retry_id' | 'reason') => results.some((result) => result[name] !== null)
  const rows = results.map(({ import_id, retry_id, reason }) => ({
    IMPORT: import_id,
    APP: String(appOf.get(import_id)),
    ...(hasSome('retry_id') && { RETRY: retry_id }),
    ...(hasSome('reason') && { REASON: reason }),
  }))
  print(command, { count: results.length, imports: results }, () => table(rows, 'No imports.'))
}

async function runOn(imports: readonly ImportId[], options: ManyOptions, action: ManyAction): Promise<OneOfMany[]> {
  if (options.dryRun) return await withDatabase((db) => action.run(db, imports, { dryRun: true }))
  const { what, verb } = action
  const target = targetOfMany('import', imports)
  await confirm(options, `${verb} ${target}`)
  return await withAudit({ appId: undefined, what, target }, (db) =>
    auditedByApp(db, { what, who: cliUser(), noun: 'import' }, imports, (ofApp) =>
      action.run(db, ofApp, { dryRun: false }),
    ),
  )
}

/** Asks on the terminal. Without one, `--yes` must be given. */
async function confirm({ yes }: ManyOptions, action: string): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY) throw new Failure(`add --yes to ${action}, or --dry-run to list them`, 2)
  await ask(`${action.charAt(0).toUpperCase()}${action.slice(1)}?`)
}
