import { describeImport } from '@sluice/client-cli'
import { approveImport } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, withTypedToken } from '../api-client.ts'
import { asClientOrOperator, changeImport } from '../one-import.ts'
import { print } from '../output.ts'

/** Adds `sluice imports approve` (changes.md §2, The decision). */
export function addImportApproveCommand(group: Command): void {
  const approve = withTypedToken(group.command('approve'))
    .description('apply the file of a held import')
    .argument('<import-id>')
    .action(async (importId: string, options: ClientOptions) => {
      const view = await asClientOrOperator(
        options,
        (client) => client.approveImport(importId),
        () =>
          changeImport(importId, { what: 'import.approve', verb: 'approved' }, async (db) => {
            const approval = await approveImport(db, importId)
            return approval.outcome === 'not held' ? { refused: `it is not held, but ${approval.state}` } : {}
          }),
      )
      print(approve, view, () => describeImport(view))
    })
}
