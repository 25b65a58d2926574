import { Command } from 'commander'
import { addAccessKeyCommands } from './commands/access-key.ts'
import { addAppCommands } from './commands/app.ts'
import { addAppLimitsCommand } from './commands/app-limits.ts'
import { addAppManagementCommands } from './commands/apps.ts'
import { addAuditCommand } from './commands/audit.ts'
import { addDashboardCommand } from './commands/dashboard.ts'
import { addDeletionCommands } from './commands/deletions.ts'
import { addImportCommands } from './commands/import.ts'
import { addKeysCommand } from './commands/keys.ts'
import { addMemberCommand } from './commands/member.ts'
import { addMigrateCommand } from './commands/migrate.ts'
import { addOperatorCommands } from './commands/operator.ts'
import { addPauseCommands } from './commands/pause.ts'
import { addTokenCommand } from './commands/token.ts'
import { addUserCommands } from './commands/users.ts'

/** Builds the command line with all commands. */
export function buildProgram(): Command {
  const program = new Command('sluice')
    .description('Bulk import of user profile attributes: commands for operators and API clients')
    .option('--json', 'print one JSON document and nothing else on stdout')
    .showHelpAfterError()
    .exitOverride()

  const app = addAppCommands(program)
  addPauseCommands(program, app)
  addAppManagementCommands(app)
  addAppLimitsCommand(app)
  addTokenCommand(program)
  addUserCommands(program)
  addKeysCommand(program)
  addImportCommands(program)
  addDeletionCommands(program)
  addAuditCommand(program)
  addDashboardCommand(program)
  addOperatorCommands(program)
  addMemberCommand(program)
  addAccessKeyCommands(program)
  addMigrateCommand(program)

  return program
}
