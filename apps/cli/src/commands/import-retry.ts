import { readSettings } from '@sluice/config'
import { findAppOfImport, RetryRefused, retryImport, showImport } from '@sluice/imports'
import type { Command } from 'commander'
import { withAudit } from '../audit.ts'
import { Failure } from '../failure.ts'
import { describeImport } from '../import-text.ts'
import { print } from '../output.ts'
import { linkBase, withDatabase, withStorage } from '../stack.ts'

/** Adds `sluice imports retry`. */
export function addImportRetryCommand(group: Command): void {
  const retry = group
    .command('retry')
    .description('import the file of a failed or cancelled import again, as a new import after all that wait')
    .argument('<import-id>')
    .action(async (importId: string) => {
      const links = await linkBase()
      const appId = await withDatabase((db) => findAppOfImport(db, importId))
      if (appId === undefined) throw new Failure(`there is no import ${JSON.stringify(importId)}`)
      const settings = readSettings(process.env, ['WAITING_IMPORTS_LIMIT'])
      const view = await withStorage((storage) =>
        withAudit({ appId, what: 'import.retry', target: importId }, async (db) => {
          const retryId = await retryImport({ db, storage, settings }, { appId, importId })
          return await showImport(db, links, retryId)
        }),
      ).catch((error: unknown) => {
        throw error instanceof RetryRefused ? new Failure(`the import cannot be retried: ${error.message}`) : error
      })
      if (view === undefined) throw new Failure('the new import is gone')
      print(retry, view, () => describeImport(view))
    })
}
