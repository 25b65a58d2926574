import { createInterface } from 'node:readline/promises'
import { type AuditAction, audited } from '@sluice/audit-log'
import type { Database } from '@sluice/database'
import type { ImportId, ManyFilter, OneOfMany } from '@sluice/imports'
import type { Command } from 'commander'
import { cliUser, withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { count, print, table } from '../output.ts'
import { parseTime, timeForms } from '../parse-time.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Options of a command for many imports. */
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
  run: (db: Database, imports: readonly ImportId[], dryRun: boolean) => Promise<OneOfMany[]>
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
  const [other] = Object.keys(options).filter((name) => name !== 'all' && name !== 'token' && name !== 'api')
  if (options.all && importId !== undefined) throw new Failure('--all and the ID of an import exclude each other', 2)
  if (options.all) return undefined
  if (importId === undefined) throw new Failure('the ID of an import is missing, or --all', 2)
  if (other !== undefined && options.state !== undefined) throw new Failure('--state needs --all', 2)
  return importId
}

/** Does an action to many imports, after asking for it, and prints what became of each (changes.md §6). */
export async function runMany(command: Command, options: ManyOptions, action: ManyAction): Promise<void> {
  const imports = await withDatabase(action.find)
  const byApp = Map.groupBy(imports, ({ appId }) => appId)
  const target = `${counted(imports.length, 'import')} of ${counted(byApp.size, 'app')}`
  const results: OneOfMany[] = []
  if (options.dryRun) {
    await withDatabase(async (db) => results.push(...(await action.run(db, imports, true))))
  } else if (imports.length > 0) {
    await confirm(options, `${action.verb} ${target}`)
    await withAudit({ appId: undefined, what: action.what, target }, async (db) => {
      for (const [appId, ofApp] of byApp) {
        const event = { appId, what: action.what, who: cliUser(), target: counted(ofApp.length, 'import') }
        results.push(...(await audited(db, event, () => action.run(db, ofApp, false))))
      }
    })
  }
  const rows = results.map(({ import_id, retry_id, reason }) => ({
    IMPORT: import_id,
    RETRY: retry_id,
    REASON: reason,
  }))
  print(command, { count: results.length, imports: results }, () => table(rows, 'No imports.'))
}

/** Asks on the terminal. Without one, `--yes` must be given. */
async function confirm({ yes }: ManyOptions, action: string): Promise<void> {
  if (yes) return
  if (!process.stdin.isTTY) throw new Failure(`add --yes to ${action}, or --dry-run to list them`, 2)
  const terminal = createInterface({ input: process.stdin, output: process.stderr })
  const answer = await terminal.question(`${action.charAt(0).toUpperCase()}${action.slice(1)}? [y/N] `)
  terminal.close()
  if (!/^y(es)?$/i.test(answer.trim())) throw new Failure('nothing was done')
}

function counted(number: number, noun: string): string {
  return `${count(number)} ${noun}${number === 1 ? '' : 's'}`
}
