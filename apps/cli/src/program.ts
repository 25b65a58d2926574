import { readFile } from 'node:fs/promises'
import { Command, type ErrorOptions } from 'commander'

/** A command, or a noun with its verbs. Its libraries load slowly, so only the command that runs is loaded. */
interface CommandEntry {
  /** The people who use the command: the heading of `sluice --help` under which it stands. */
  group: 'API clients' | 'Operators'
  description: string
  /** Loads the file. Returns the function that completes the command. */
  load(): Promise<(command: Command) => void>
}

/** The commands in the order of `sluice --help`. */
export const commands: Readonly<Record<string, CommandEntry>> = {
  imports: {
    group: 'API clients',
    description: 'import CSV files, and list, show, cancel, approve and retry imports',
    load: async () => (await import('./commands/imports.ts')).addImportCommands,
  },
  exports: {
    group: 'API clients',
    description: 'write all profiles of an app to a file',
    load: async () => (await import('./commands/exports.ts')).addExportCommands,
  },
  apps: {
    group: 'Operators',
    description: 'manage apps',
    load: async () => (await import('./commands/apps.ts')).addAppCommands,
  },
  pause: {
    group: 'Operators',
    description: 'pause the imports of all apps; requests and uploads are accepted',
    load: async () => (await import('./commands/pause.ts')).addPauseCommand,
  },
  resume: {
    group: 'Operators',
    description: 'resume the imports of all apps',
    load: async () => (await import('./commands/pause.ts')).addPauseCommand,
  },
  queues: {
    group: 'Operators',
    description: 'show pauses, waiting imports, workers and mails of all apps',
    load: async () => (await import('./commands/queues.ts')).addQueuesCommand,
  },
  tokens: {
    group: 'Operators',
    description: 'manage API tokens',
    load: async () => (await import('./commands/tokens.ts')).addTokenCommands,
  },
  users: {
    group: 'Operators',
    description: 'register and show the users of an app',
    load: async () => (await import('./commands/users.ts')).addUserCommands,
  },
  keys: {
    group: 'Operators',
    description: 'profile keys of an app with their types',
    load: async () => (await import('./commands/keys.ts')).addKeyCommands,
  },
  deletions: {
    group: 'Operators',
    description: 'deletion requests of an app',
    load: async () => (await import('./commands/deletions.ts')).addDeletionCommands,
  },
  audit: {
    group: 'Operators',
    description: 'who did what, newest first',
    load: async () => (await import('./commands/audit.ts')).addAuditCommand,
  },
  dashboard: {
    group: 'Operators',
    description: 'links to the dashboard',
    load: async () => (await import('./commands/dashboard.ts')).addDashboardCommands,
  },
  operators: {
    group: 'Operators',
    description: 'manage operators, who see every app and the queues',
    load: async () => (await import('./commands/operators.ts')).addOperatorCommands,
  },
  members: {
    group: 'Operators',
    description: 'manage members, who can sign in to an app’s dashboard and get its mails',
    load: async () => (await import('./commands/members.ts')).addMemberCommands,
  },
  'access-keys': {
    group: 'Operators',
    description: 'manage access keys of the S3 gateway',
    load: async () => (await import('./commands/access-keys.ts')).addAccessKeyCommands,
  },
  webhooks: {
    group: 'Operators',
    description: 'manage the webhook endpoints of an app',
    load: async () => (await import('./commands/webhooks.ts')).addWebhookCommands,
  },
  migrate: {
    group: 'Operators',
    description: 'bring the database schema up to date',
    load: async () => (await import('./commands/migrate.ts')).addMigrateCommand,
  },
}

/** Other first words: the noun that each stands for, and the default verb. */
const aliases = new Map<string, readonly [noun: string, verb?: string]>([
  ['import', ['imports', 'create']],
  ['export', ['exports', 'create']],
  ['app', ['apps']],
  ['token', ['tokens']],
  ['user', ['users']],
  ['operator', ['operators']],
  ['member', ['members']],
  ['key', ['access-keys']],
  ['webhook', ['webhooks']],
])

const nounOf = (word: string) => aliases.get(word)?.[0] ?? word

const aliasText = `Other forms: ${[...aliases]
  .map(([word, form]) => `${word} (${form.join(' ')})`)
  .join(', ')}. A plural alone lists.`

/** Minimum number of characters in which the help wraps a description: room for it in a terminal of 40 columns. */
const minWidthToWrap = 16

/** What `sluice` prints without arguments. */
export const firstSteps = `sluice imports files of customers into user profiles.

  sluice apps create --name Shop --email you@example.com
      creates an app and its API token
  sluice import people.csv --token TOKEN --wait
      imports a file, and shows the result
  sluice dashboard link --email you@example.com
      signs you in to the dashboard

sluice --help lists all commands, sluice help COMMAND the options of one.
`

/** A command that prints JSON on request, like every command of this program that does something. */
class CommandOfSluice extends Command {
  override createCommand(name?: string): Command {
    return new CommandOfSluice(name)
  }

  override action(...action: Parameters<Command['action']>): this {
    // design.md §2, Output.
    const hasJson = this.options.some(({ long }) => long === '--json')
    if (!hasJson) this.option('--json', 'print one JSON document and nothing else on stdout')
    if (this.name() === 'list') this.option('--wide', 'show all columns, and cut nothing')
    return super.action(...action)
  }

  /** Reports wrong usage, and what to do next. */
  override error(message: string, options?: ErrorOptions): never {
    const words: string[] = []
    for (let each: Command | null = this; each !== null; each = each.parent) words.unshift(each.name())
    const problem = message
      .replace(/^error: /, '')
      .replace(/^required option '(--\S+).*' not specified/, '$1 is missing')
      .replace(/\n\((.*)\)$/, '. $1')
    const listed = this.commands.length === 0 ? 'its options' : this.parent ? 'its commands' : 'all commands'
    super.error(`sluice: ${problem}\n${words.join(' ')} --help lists ${listed}`, options)
  }
}

/**
 * Returns the program `sluice`. The commands that `args` name are ready to be parsed. The other commands are only
 * listed for `--help`, so the program must parse no arguments but `args` in their {@link fullForm}.
 */
export async function openProgram(args: readonly string[]): Promise<Command> {
  const program = new CommandOfSluice('sluice')
    .description('Bulk import of user profile attributes: commands for operators and API clients')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .version(await readVersion(), '--version', 'print the version')
    .configureHelp({ minWidthToWrap })
    .addHelpText('after', ({ command }) => `\n${command.createHelp().boxWrap(aliasText, process.stdout.columns ?? 80)}`)
    .exitOverride()
  for (const [word, { group, description, load }] of Object.entries(commands)) {
    const command = program.commandsGroup(`${group}:`).command(word).description(description)
    if (args.some((arg) => nounOf(arg) === word)) (await load())(command)
  }
  return program
}

/**
 * Returns arguments with the plural noun and the verb that they imply: `import FILE` becomes `imports create FILE`,
 * `keys --app 1` becomes `keys list --app 1`, and `help COMMAND` becomes `COMMAND --help`. A verb that follows its
 * options moves before them.
 */
export function fullForm(program: Command, args: readonly string[]): string[] {
  const at = args.findIndex((arg) => !arg.startsWith('-'))
  const [typed, next] = args.slice(at)
  if (at === -1 || typed === undefined) return [...args]
  if (typed === 'help') {
    // An unknown command is reported with the nearest name. Its help would be that of the program.
    const isKnown = next === undefined || program.commands.some((command) => command.name() === nounOf(next))
    return fullForm(program, [...args.toSpliced(at, 1), ...(isKnown ? ['--help'] : [])])
  }
  const [noun, verb] = aliases.get(typed) ?? [typed, 'list']
  const verbs = program.commands.find((command) => command.name() === noun)?.commands ?? []
  const given = args.slice(at + 1)
  const verbAt = given.findIndex((word, index) =>
    verbs.some((each) => each.name() === word && areOptions(each, given.slice(0, index))),
  )
  if (verbAt > 0) return [...args.slice(0, at), noun, ...given.slice(verbAt, verbAt + 1), ...given.toSpliced(verbAt, 1)]
  const isVerbGiven = verbAt === 0 || next === 'help'
  // A plural may stand alone or before options. Any other word that follows it is a verb with a mistake.
  const isAlone = next === undefined || (next.startsWith('-') && next !== '--help' && next !== '-h')
  const implied = !isVerbGiven && (typed !== noun || isAlone) ? verbs.filter((each) => each.name() === verb) : []
  return args.toSpliced(at, 1, noun, ...implied.map((each) => each.name()))
}

/** Returns whether arguments are options of a command, each with its value. */
function areOptions(command: Command, args: readonly string[]): boolean {
  let at = 0
  while (at < args.length) {
    const [name, value] = (args[at] ?? '').split('=')
    const option = command.options.find(({ long, short }) => name === long || name === short)
    if (option === undefined) return false
    at += option.required && value === undefined ? 2 : 1
  }
  return at === args.length
}

async function readVersion(): Promise<string> {
  const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  return JSON.parse(manifest).version
}
