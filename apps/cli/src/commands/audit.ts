import { type AuditView, auditActions, auditLogPages } from '@sluice/audit-log'
import { printable, printableJson } from '@sluice/local-stack/printable'
import { type Command, InvalidArgumentError } from 'commander'
import { parseAppId, withDatabase } from '../stack.ts'

/** Adds `sluice audit` (second-day.md §6, Audit lines). */
export function addAuditCommand(program: Command): void {
  const audit = program
    .command('audit')
    .description('who did what, newest first; with --json one JSON document a line')
    .option('--app <id>', 'only entries of this app', parseAppId)
    .option('--since <time>', 'only entries since a time (ISO 8601), or within 90m, 12h or 7d', parseSince)
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
    entry.at,
    app,
    `${entry.who} (${entry.who_type})`,
    auditActions[entry.what],
    entry.target,
    entry.outcome,
  ]
  return printable([...parts, entry.address].filter((part) => part !== null && part !== '').join('  '))
}

const unitsMs = { m: 60_000, h: 3_600_000, d: 86_400_000 } as const

function parseSince(text: string): Date {
  const [, amount, unit] = /^(\d{1,6})([mhd])$/.exec(text) ?? []
  const isAge = amount !== undefined && unit !== undefined
  const since = isAge ? new Date(Date.now() - Number(amount) * unitsMs[unit as keyof typeof unitsMs]) : new Date(text)
  if (Number.isNaN(since.getTime()))
    throw new InvalidArgumentError('It must be a time such as 2026-03-07T00:00:00Z, or 7d.')
  return since
}
