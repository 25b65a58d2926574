import { printableLines } from '@sluice/local-stack'
import { Command, CommanderError } from 'commander'
import { addAccessKeyCommands } from './commands/access-key.ts'
import { addAppCommand } from './commands/app.ts'
import { addDashboardCommand } from './commands/dashboard.ts'
import { addDeletionCommands } from './commands/deletions.ts'
import { addExportCommand } from './commands/export.ts'
import { addImportCommands } from './commands/import.ts'
import { addKeysCommand } from './commands/keys.ts'
import { addMemberCommand } from './commands/member.ts'
import { addMigrateCommand } from './commands/migrate.ts'
import { addOperatorCommands } from './commands/operator.ts'
import { addTokenCommand } from './commands/token.ts'
import { addUserCommands } from './commands/users.ts'
import { Failure } from './failure.ts'

const program = new Command('sluice')
  .description('Bulk import of user profile attributes: commands for operators and API clients')
  .option('--json', 'print one JSON document and nothing else on stdout')
  .showHelpAfterError()
  .exitOverride()

addAppCommand(program)
addTokenCommand(program)
addUserCommands(program)
addKeysCommand(program)
addImportCommands(program)
addExportCommand(program)
addDeletionCommands(program)
addDashboardCommand(program)
addOperatorCommands(program)
addMemberCommand(program)
addAccessKeyCommands(program)
addMigrateCommand(program)

// If the reader of the output closes it early (`sluice imports | head`), that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

try {
  await program.parseAsync()
} catch (error) {
  if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
  else {
    console.error(printableLines(`sluice: ${error instanceof Error ? describe(error) : String(error)}`))
    process.exitCode = error instanceof Failure ? error.exitCode : 1
  }
}

/**
 * Returns an error's message. An AggregateError (both addresses of a host refused) has only the messages of its causes.
 */
function describe(error: Error): string {
  return error instanceof AggregateError ? error.errors.map((cause: Error) => cause.message).join(', ') : error.message
}
