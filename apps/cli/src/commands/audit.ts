import { normalEmail } from '@sluice/accounts'
import { type AuditAction, type AuditLogFilter, type AuditView, auditActions, auditLogPages } from '@sluice/audit-log'
import { printable, printableJson } from '@sluice/client-cli/printable'
import { type Command, InvalidArgumentError } from 'commander'
import { isJson } from '../output.ts'
import { parseTime, timeForms } from '../parse-time.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Completes `sluice audit` (second-day.md §6, Audit lines). */
export function addAuditCommand(audit: Command): void {
  audit
    .option('--app <id>', 'only entries of this app', parseAppId)
    .option(
      '--who <name>',
      'only what this person, user of the system or API token did, as the entries name it',
      parseWho,
    )
    .option('--what <action>', 'only entries of this action, such as import.cancel, as --json names it', parseAction)
    .option('--since <time>', `only entries since this time (${timeForms})`, parseTime)
    .option('--until <time>', 'only entries before this time', parseTime)
    .option('--json', 'print one JSON document a line and nothing else on stdout')
    .action(async ({ app, ...filter }: { app?: number } & Omit<AuditLogFilter, 'appId' | 'before'>) => {
      const line = isJson(audit) ? (entry: AuditView) => printableJson(entry, 0) : textLine
      await withDatabase(async (db) => {
        for await (const entries of auditLogPages(db, { ...filter, appId: app })) {
          process.stdout.write(entries.map((entry) => `${line(entry)}\n`).join(''))
        }
      })
    })
}

const parseWho = (text: string) => normalEmail(text) ?? text

function parseAction(text: string): AuditAction {
  const actions = Object.keys(auditActions) as AuditAction[]
  const action = actions.find((each) => each === text)
  if (action === undefined) throw new InvalidArgumentError(`It must be one of ${actions.join(', ')}.`)
  return action
}

function textLine(entry: AuditView): string {
  const app = entry.app_id === null ? 'all apps' : `app ${entry.app_id}`
  const parts = [
    new Date(entry.at).toLocaleString('sv-SE'),
    app,
    `${entry.who} (${entry.who_type})`,
    auditActions[entry.what],
    entry.target,
    entry.outcome,
  ]
  return printable([...parts, entry.address].filter((part) => part !== null && part !== '').join('  '))
}
