import { Command } from 'commander'

/** A file that defines commands. Its libraries load slowly, so the file is loaded only for its own commands. */
interface CommandFile {
  /** The first words of the file's commands, with their descriptions for the list of `sluice --help`. */
  words: Readonly<Record<string, string>>
  /** Loads the file. Returns the function that adds its commands to a program. */
  load(): Promise<(program: Command) => void>
}

/** The files in the order of `sluice --help`. */
export const commandFiles: readonly CommandFile[] = [
  {
    words: { app: 'manage apps' },
    load: async () => (await import('./commands/app.ts')).addAppCommand,
  },
  {
    words: {
      pause:
        'pause the imports of all apps; running imports are released after their current batch; requests and uploads are accepted',
      resume: 'resume the imports of all apps; workers continue within a second',
    },
    load: async () => (await import('./commands/pause.ts')).addPauseCommands,
  },
  {
    words: { token: 'manage API tokens' },
    load: async () => (await import('./commands/token.ts')).addTokenCommand,
  },
  {
    words: { users: 'manage the users of an app', user: 'look up a user of an app' },
    load: async () => (await import('./commands/users.ts')).addUserCommands,
  },
  {
    words: { keys: 'profile keys of an app with their types' },
    load: async () => (await import('./commands/keys.ts')).addKeysCommand,
  },
  {
    words: {
      import: 'upload a CSV file (plain or .gz) as a client of the API',
      imports: 'imports of an app or of all apps, newest request first (at most 1000)',
    },
    load: async () => (await import('./commands/import.ts')).addImportCommands,
  },
  {
    words: { export: 'write all profiles of an app to a gzip-compressed CSV file, as a client of the API' },
    load: async () => (await import('./commands/export.ts')).addExportCommand,
  },
  {
    words: { deletions: 'deletion requests of an app, newest first (at most 1000)' },
    load: async () => (await import('./commands/deletions.ts')).addDeletionCommands,
  },
  {
    words: { audit: 'who did what, newest first; with --json one JSON document a line' },
    load: async () => (await import('./commands/audit.ts')).addAuditCommand,
  },
  {
    words: { dashboard: 'links to the dashboard' },
    load: async () => (await import('./commands/dashboard.ts')).addDashboardCommand,
  },
  {
    words: { operator: 'manage operators, who see every app and the queues' },
    load: async () => (await import('./commands/operator.ts')).addOperatorCommands,
  },
  {
    words: { member: 'manage members, who can sign in to an app’s dashboard and get its mails' },
    load: async () => (await import('./commands/member.ts')).addMemberCommand,
  },
  {
    words: { key: 'manage access keys of the S3 gateway' },
    load: async () => (await import('./commands/access-key.ts')).addAccessKeyCommands,
  },
  {
    words: { webhook: 'manage the webhook endpoints of an app' },
    load: async () => (await import('./commands/webhook.ts')).addWebhookCommands,
  },
  {
    words: { migrate: 'bring the database schema up to date' },
    load: async () => (await import('./commands/migrate.ts')).addMigrateCommand,
  },
]

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
    .showHelpAfterError()
    .exitOverride()
  for (const { words, load } of commandFiles) {
    if (args.some((arg) => Object.hasOwn(words, arg))) (await load())(program)
    else for (const [word, description] of Object.entries(words)) program.command(word).description(description)
  }
  return program
}
