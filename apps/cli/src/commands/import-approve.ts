import type { ImportView } from '@sluice/client'
import { approveImport, findAppOfImport, showImport } from '@sluice/imports'
import type { Command } from 'commander'
import { type ClientOptions, openClient, withTypedToken } from '../api-client.ts'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { describeImport } from '../import-text.ts'
import { print } from '../output.ts'
import { linkBase } from '../stack.ts'

/** Adds `sluice imports approve` (changes.md §2, The decision). */
export function addImportApproveCommand(group: Command): void {
  const approve = withTypedToken(group.command('approve'))
    .description('apply the file of a held import')
    .argument('<import-id>')
    .action(async (importId: string, options: ClientOptions) => {
      const view = options.token
        ? await (await openClient(options)).approveImport(importId)
        : await approveAsOperator(importId)
      print(approve, view, () => describeImport(view))
    })
}

async function approveAsOperator(importId: string): Promise<ImportView> {
  const links = await linkBase()
  const { approval, view } = await withAudit(
    { appId: undefined, what: 'import.approve', target: importId },
    async (db) => ({
      appId: await findAppOfImport(db, importId),
      approval: await approveImport(db, importId),
      view: await showImport(db, links, importId),
    }),
    ({ appId, approval: { outcome } }) => ({
      outcome: outcome === 'approved' ? 'done' : 'refused',
      ...(appId !== undefined && { appId }),
    }),
  )
  if (approval.outcome === 'not held')
    throw new Failure(`the import cannot be approved: it is not held, but ${approval.state}`)
  if (view === undefined) throw new Failure(`there is no import ${JSON.stringify(importId)}`)
  return view
}
