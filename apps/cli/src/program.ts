import { readFile } from 'node:fs/promises'
import { Command } from 'commander'

/** A file that defines commands. Its libraries load slowly, so the file is loaded only for its own commands. */
interface CommandFile {
  /** The people who use the commands: the heading of `sluice --help` under which they stand. */
  group: 'API clients' | 'Operators'
  /** The first words of the file's commands, with their descriptions for the list of `sluice --help`. */
  words: Readonly<Record<string, string>>
  /** Loads the file. Returns the function that adds its commands to a program. */
  load(): Promise<(program: Command) => void>
}

/** The files in the order of `sluice --help`. */
export const commandFiles: readonly CommandFile[] = [
  {
    group: 'API clients',
    words: {
      import: 'upload a CSV file (plain or .gz) as a client of the API',
      imports: 'imports of an app or of all apps, newest request first (at most 1000)',
    },
    load: async () => (await import('./commands/import.ts')).addImportCommands,
  },
  {
    group: 'API clients',
    words: { export: 'write all profiles of an app to a gzip-compressed CSV file, as a client of the API' },
    load: async () => (await import('./commands/export.ts')).addExportCommand,
  },
  {
    group: 'Operators',
    words: { app: 'manage apps' },
    load: async () => (await import('./commands/app.ts')).addAppCommand,
  },
  {
    group: 'Operators',
    words: {
      pause:
        'pause the imports of all apps; running imports are released after their current batch; requests and uploads are accepted',
      resume: 'resume the imports of all apps; workers continue within a second',
    },
    load: async () => (await import('./commands/pause.ts')).addPauseCommands,
  },
  {
    group: 'Operators',
    words: { token: 'manage API tokens' },
    load: async () => (await import('./commands/token.ts')).addTokenCommand,
  },
  {
    group: 'Operators',
    words: { users: 'manage the users of an app', user: 'look up a user of an app' },
    load: async () => (await import('./commands/users.ts')).addUserCommands,
  },
  {
    group: 'Operators',
    words: { keys: 'profile keys of an app with their types' },
    load: async () => (await import('./commands/keys.ts')).addKeysCommand,
  },
  {
    group: 'Operators',
    words: { deletions: 'deletion requests of an app, newest first (at most 1000)' },
    load: async () => (await import('./commands/deletions.ts')).addDeletionCommands,
  },
  {
    group: 'Operators',
    words: { audit: 'who did what, newest first; with --json one JSON document a line' },
    load: async () => (await import('./commands/audit.ts')).addAuditCommand,
  },
  {
    group: 'Operators',
    words: { dashboard: 'links to the dashboard' },
    load: async () => (await import('./commands/dashboard.ts')).addDashboardCommand,
  },
  {
    group: 'Operators',
    words: { operator: 'manage operators, who see every app and the queues' },
    load: async () => (await import('./commands/operator.ts')).addOperatorCommands,
  },
  {
    group: 'Operators',
    words: { member: 'manage members, who can sign in to an app’s dashboard and get its mails' },
    load: async () => (await import('./commands/member.ts')).addMemberCommand,
  },
  {
    group: 'Operators',
    words: { key: 'manage access keys of the S3 gateway' },
    load: async () => (await import('./commands/access-key.ts')).addAccessKeyCommands,
  },
  {
    group: 'Operators',
    words: { webhook: 'manage the webhook endpoints of an app' },
    load: async () => (await import('./commands/webhook.ts')).addWebhookCommands,
  },
  {
    group: 'Operators',
    words: { migrate: 'bring the database schema up to date' },
    load: async () => (await import('./commands/migrate.ts')).addMigrateCommand,
  },
]

/** What `sluice` prints without arguments. */
export const firstSteps = `sluice imports files of customers into user profiles.

  sluice app create --name Shop --email you@example.com   creates an app and its API token
  sluice import people.csv --token TOKEN --wait           imports a file, and shows the result
  sluice dashboard link --email you@example.com           signs you in to the dashboard

sluice --help lists all commands, sluice COMMAND --help the options of one.
`

/** A command that prints JSON on request, like every command of this program that does something. */
class CommandWithJson extends Command {
  override createCommand(name?: string): Command {
    return new CommandWithJson(name)
  }

  override action(...action: Parameters<Command['action']>): this {
    const hasJson = this.options.some(({ long }) => long === '--json')
    if (!hasJson) this.option('--json', 'print one JSON document and nothing else on stdout')
    return super.action(...action)
  }
}

/**
 * Returns the program `sluice`. The commands that `args` name are ready to be parsed. The other commands are only
 * listed for `--help`, so the program must parse no arguments but `args`.
 */
export async function openProgram(args: readonly string[]): Promise<Command> {
  const program = new CommandWithJson('sluice')
    .description('Bulk import of user profile attributes: commands for operators and API clients')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .version(await readVersion(), '--version', 'print the version')
    .configureOutput({ outputError: (text, write) => write(`sluice: ${text.replace(/^error: /, '')}`) })
    .exitOverride()
  for (const { group, words, load } of commandFiles) {
    program.commandsGroup(`${group}:`)
    if (args.some((arg) => Object.hasOwn(words, arg))) (await load())(program)
    else for (const [word, description] of Object.entries(words)) program.command(word).description(description)
  }
  return program
}

async function readVersion(): Promise<string> {
  const manifest = await readFile(new URL('../package.json', import.meta.url), 'utf8')
  return JSON.parse(manifest).version
}
