import { type AuditView, auditActions, auditLogPages } from '@sluice/audit-log'
import { printable, printableJson } from '@sluice/local-stack/printable'
import type { Command } from 'commander'
import { parseTime, timeForms } from '../parse-time.ts'
import { parseAppId, withDatabase } from '../stack.ts'

/** Completes `sluice audit` (second-day.md §6, Audit lines). */
export function addAuditCommand(audit: Command): void {
  audit
    .option('--app <id>', 'only entries of this app', parseAppId)
    .option('--since <time>', `only entries since this time (${timeForms})`, parseTime)
    .option('--json', 'print one JSON document a line and nothing else on stdout')
    .action(async ({ app, since }: { app?: number; since?: Date }) => {
      const isJson = audit.optsWithGlobals<{ json?: boolean }>().json === true
      const line = isJson ? (entry: AuditView) => printableJson(entry, 0) : textLine
      await withDatabase(async (db) => {
        for await (const entries of auditLogPages(db, { appId: app, since })) {
          process.stdout.write(entries.map((entry) => `${line(entry)}\n`).join(''))
        }
      })
    })
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
