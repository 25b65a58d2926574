import type { ExportView } from '@sluice/client'
import { type Command, Option } from 'commander'
import { openClient } from '../api-client.ts'
import { downloadExport } from '../download-export.ts'
import { Failure } from '../failure.ts'
import { fields, print } from '../output.ts'

interface ExportOptions {
  token?: string
  api?: string
  out: string
  keys?: string[]
}

/** Adds `sluice export`. */
export function addExportCommand(program: Command): void {
  const command = program
    .command('export')
    .description('write all profiles of an app to a gzip-compressed CSV file, as a client of the API')
    .addOption(new Option('--token <token>', 'API token of the app').env('SLUICE_TOKEN'))
    .option('--api <url>', 'address of the API; default: API_URL or the running stack')
    .requiredOption('--out <file>', 'file to write')
    .option('--keys <keys>', 'profile keys in the order of the columns, separated by commas; default: all', splitKeys)
    .action(async ({ token, api, out, keys }: ExportOptions) => {
      if (!token) throw new Failure('--token (or SLUICE_TOKEN) is missing', 2)
      const view = await downloadExport(await openClient(api, token), keys, out)
      print(command, view, () => describe(view, out))
    })
}

function splitKeys(text: string): string[] {
  return text.split(',')
}

function describe(view: ExportView, out: string): string {
  return fields({ Export: view.export_id, Users: view.rows, Bytes: view.bytes, File: out })
}
