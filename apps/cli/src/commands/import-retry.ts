import type { ImportView } from '@sluice/client'
import { Failure } from '@sluice/client-cli/failure'
import { readSettings } from '@sluice/config'
import { findImportsToRetry, retryImport, retryImports } from '@sluice/imports'
import type { Command } from 'commander'
import { requester } from '../audit.ts'
import { changeImport, printImport, readEnd } from '../one-import.ts'
import { withStorage } from '../stack.ts'
import { type ManyOptions, oneOrAll, runMany, withManyOptions } from './import-many.ts'

export function addImportRetryCommand(group: Command): void {
  const command = group
    .command('retry')
    .description('import the files of failed or cancelled imports again, as new imports after all that wait')
    .argument('[import-id]')
  const retry = withManyOptions(command, retriedStates, 'that ended')
    .option('--wait', 'wait until the new import has ended, and show it')
    .action(async (given: string | undefined, options: ManyOptions & { wait?: true }) => {
      const importId = oneOrAll(given, options)
      if (importId === undefined && options.wait) throw new Failure('--wait needs the ID of an import', 2)
      if (importId === undefined) return await retryAll(retry, options)
      const retried = await retryOne(importId)
      await printImport(retry, retried, options.wait && (() => readEnd(retried.import_id)))
    })
}

const retriedStates = ['failed', 'cancelled'] as const

async function retryAll(command: Command, options: ManyOptions): Promise<void> {
  const states = retriedStates.filter((state) => state === options.state)
  if (states.length === 0) throw new Failure(`--all needs --state ${retriedStates.join(' or --state ')}`, 2)
  const { app: appId, since, until } = options
  const settings = readSettings(process.env, ['WAITING_IMPORTS_LIMIT'])
  await withStorage((storage) =>
    runMany(command, options, {
      verb: 'retry',
      what: 'import.retry',
      find: (db) => findImportsToRetry(db, { states, appId, since, until }),
      run: (db, imports, { dryRun }) =>
        retryImports({ db, storage, settings }, imports, { dryRun, requestedBy: requester() }),
    }),
  )
}

async function retryOne(importId: string): Promise<ImportView> {
  const settings = readSettings(process.env, ['WAITING_IMPORTS_LIMIT'])
  return await withStorage((storage) =>
    changeImport(importId, { what: 'import.retry', verb: 'retried' }, async (db, id) => ({
      newId: await retryImport({ db, storage, settings }, id, requester()),
    })),
  )
}
