import type { ExportView } from '@sluice/client'
import { fields } from '@sluice/client-cli/text'
import type { Command } from 'commander'
import { type ClientOptions, openClient, withClientOptions } from '../api-client.ts'
import { downloadExport } from '../download-export.ts'
import { print } from '../output.ts'

interface ExportOptions extends ClientOptions {
  out: string
  keys?: string[]
}

/** Adds `sluice exports create`. */
export function addExportCommands(exports: Command): void {
  const command = withClientOptions(exports.command('create'))
    .description('write all profiles of an app to a gzip-compressed CSV file, as a client of the API')
    .requiredOption('--out <file>', 'file to write')
    .option('--keys <keys>', 'profile keys in the order of the columns, separated by commas; default: all', splitKeys)
    .action(async ({ out, keys, ...options }: ExportOptions) => {
      const view = await downloadExport(await openClient(options), keys, out)
      print(command, view, () => describe(view, out))
    })
}

function splitKeys(text: string): string[] {
  return text.split(',')
}

function describe(view: ExportView, out: string): string {
  return fields({ Export: view.export_id, Users: view.rows, Bytes: view.bytes, File: out })
}
