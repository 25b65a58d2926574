import { readFileSync } from 'node:fs'
import { type ImportView, Sluice } from '@sluice/client'
import { type ClientCommand, help, parseCommand } from './arguments.ts'
import { reportFailure } from './failure.ts'
import { type Print, runImport } from './import-file.ts'
import { describeWithErrors } from './import-text.ts'
import { printableJson } from './printable.ts'

/** How long a request is repeated after temporary failures, ms. It is short, because a person waits for the command. */
const patienceMs = 10_000

/**
 * Runs the command of `sluice-client` that these arguments name, and prints its output, or its error on stderr. Returns
 * the exit code: 0, 1 after a failure, 2 after wrong usage.
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  try {
    const command = parseCommand(args, process.env)
    if (command === 'help') process.stdout.write(help)
    else if (command === 'version') process.stdout.write(`${readVersion()}\n`)
    else await run(command)
    return 0
  } catch (error) {
    return reportFailure('sluice-client', error)
  }
}

async function run(command: ClientCommand): Promise<void> {
  const { verb, subject, api, token, json } = command
  const client = new Sluice({ api: api.replace(/\/+$/, ''), token, patienceMs })
  const print: Print = async (document, text) => {
    process.stdout.write(`${json ? printableJson(document) : await text()}\n`)
  }
  if (verb === 'import') return await runImport(client, subject, { ...command, program: 'sluice-client' }, print)
  const calls: Record<typeof verb, (importId: string) => Promise<ImportView>> = {
    show: (importId) => client.showImport(importId),
    cancel: (importId) => client.cancelImport(importId),
    approve: (importId) => client.approveImport(importId),
  }
  const view = await calls[verb](subject)
  await print(view, () => describeWithErrors(view))
}

/** Returns the version of the published package, whose root is three folders above; else of this one. */
function readVersion(): string {
  const url = ['../../package.json', '../package.json'].map((path) => new URL(path, import.meta.url))
  for (const each of url) {
    try {
      return JSON.parse(readFileSync(each, 'utf8')).version
    } catch {
      // The other one is there.
    }
  }
  return 'unknown'
}
