import { approveImport } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, withTypedToken } from '../api-client.ts'
import { asClientOrOperator, changeImport, printImport, waitForEnd } from '../one-import.ts'

interface ApproveOptions extends ClientOptions {
  wait?: true
}

/** Adds `sluice imports approve` (changes.md §2, The decision). */
export function addImportApproveCommand(group: Command): void {
  const approve = withTypedToken(group.command('approve'))
    .description('apply the file of a held import')
    .argument('<import-id>')
    .option('--wait', 'wait until the import has ended, and show it')
    .action(async (importId: string, options: ApproveOptions) => {
      const { wait } = options
      const approved = await asClientOrOperator(
        options,
        (client) => client.approveImport(importId),
        () =>
          changeImport(importId, { what: 'import.approve', verb: 'approved' }, async (db, id) => {
            const approval = await approveImport(db, id)
            return approval.outcome === 'not held' ? { refused: `it is not held, but ${approval.state}` } : {}
          }),
      )
      await printImport(approve, approved, wait && (() => waitForEnd(approved, options)))
    })
}
