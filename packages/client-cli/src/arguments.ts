import { parseArgs } from 'node:util'
import type { ImportOptions } from '@sluice/client'
import { holdIfOf } from '@sluice/contract/hold-if'
import type { ValueType } from '@sluice/contract/value-type'
import { addType } from './column-types.ts'
import { Failure, messageOf } from './failure.ts'

export const help = `sluice-client imports CSV files into user profiles over the API of Sluice.

  sluice-client import FILE     uploads a CSV file, plain or gzip
  sluice-client show ID         shows an import
  sluice-client cancel ID       cancels an import; rows applied so far stay applied
  sluice-client approve ID      applies an import that is held

Options:
  --api URL              address of the API (or SLUICE_API)
  --token TOKEN          API token of the app (or SLUICE_TOKEN)
  --json                 print one JSON document and nothing else on stdout
  --version, --help

Options of import:
  --wait                 wait until the import has ended or is held, and show it
  --fail-on-errors       with --wait: exit code 1 if any row has an error
  --dry-run              check the whole file and report errors, but apply nothing
  --type KEY=TYPE        declare the type of a column, for example zip=string; may be repeated
  --new-keys CHOICE      register or refuse columns that are neither registered nor declared
  --keep-changes         keep what each row changes, to see it and to undo the import
  --hold-if BOUNDS       hold the import for approval: always, never, or such as changed_percent=20,new_keys=0
  --clear-marker TEXT    a cell with this text removes the key from the user's profile

Exit codes: 0; 1 after a failure; 2 after wrong usage.
`

const verbs = ['import', 'show', 'cancel', 'approve'] as const
type Verb = (typeof verbs)[number]

/** A command of `sluice-client` for one file or one import. */
export interface ClientCommand {
  verb: Verb
  /** The file, or the import's ID. */
  subject: string
  api: string
  token: string
  json: boolean
  wait: boolean
  failOnErrors: boolean
  upload: ImportOptions
}

const flag = { type: 'boolean', default: false } as const
const text = { type: 'string' } as const
const options = {
  api: text,
  token: text,
  json: flag,
  version: flag,
  help: { type: 'boolean', default: false, short: 'h' },
  wait: flag,
  'fail-on-errors': flag,
  'dry-run': flag,
  type: { type: 'string', multiple: true },
  'new-keys': text,
  'keep-changes': flag,
  'hold-if': text,
  'clear-marker': text,
} as const

/**
 * Returns the command that arguments name, or which text to print instead. An option precedes the variable of `env`.
 * Throws {@link Failure} with exit code 2 after wrong usage.
 */
export function parseCommand(args: readonly string[], env: NodeJS.ProcessEnv): ClientCommand | 'help' | 'version' {
  const { values, positionals } = parse(args)
  if (values.help || args.length === 0) return 'help'
  if (values.version) return 'version'
  const [word = '', subject, surplus] = positionals
  const verb = verbs.find((each) => each === word)
  if (verb === undefined) throw wrongUsage(word === '' ? 'the command is missing' : `there is no command ${word}`)
  if (subject === undefined) throw wrongUsage(verb === 'import' ? 'the file is missing' : "the import's ID is missing")
  if (surplus !== undefined) throw wrongUsage(`${surplus} is too much: there is one file or import for each command`)
  const { api = env.SLUICE_API, token = env.SLUICE_TOKEN } = values
  if (!api) throw wrongUsage('--api (or SLUICE_API) is missing')
  if (!/^https?:\/\//.test(api) || !URL.canParse(api)) throw wrongUsage(`${api} is not an http address`)
  if (!token) throw wrongUsage('--token (or SLUICE_TOKEN) is missing')
  const { json, wait, 'fail-on-errors': failOnErrors } = values
  return { verb, subject, api, token, json, wait, failOnErrors, upload: uploadOptions(values) }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true })
  } catch (error) {
    // The sentences that follow are about arguments that begin with a hyphen.
    throw wrongUsage(messageOf(error).split('. ', 1).join().replace(/\.$/, ''))
  }
}

function uploadOptions(values: ReturnType<typeof parse>['values']): ImportOptions {
  const { type: pairs, 'new-keys': newKeys, 'hold-if': bounds } = values
  if (newKeys !== undefined && newKeys !== 'register' && newKeys !== 'refuse')
    throw wrongUsage('--new-keys must be register or refuse')
  const holdIf = bounds === undefined ? undefined : holdIfOf(bounds)
  if (bounds !== undefined && holdIf === undefined)
    throw wrongUsage('--hold-if must be always, never, or bounds such as changed_percent=20,new_keys=0')
  return {
    dryRun: values['dry-run'] || undefined,
    // The API checks the types. Its error message lists the known types.
    profileTypes: pairs?.reduce((all, pair) => addType(pair, all), {}) as Record<string, ValueType> | undefined,
    newKeys,
    keepChanges: values['keep-changes'] || undefined,
    holdIf,
    clearMarker: values['clear-marker'],
  }
}

function wrongUsage(problem: string): Failure {
  return new Failure(`${problem}. sluice-client --help shows all commands and options.`, 2)
}
