import { nextStepAfter, reportFailure } from '@sluice/client-cli/failure'
import { CommanderError } from 'commander'
import { firstSteps, fullForm, openProgram } from './program.ts'

/**
 * Runs the command of `sluice` that these arguments name, and prints its output, or its error on stderr
 * (design.md §2, Output; design.md §2, npm run -s sluice). Returns the exit code: 0, 1 after a failure, 2 after wrong
 * usage.
 */
export async function runCommand(args: readonly string[]): Promise<number> {
  if (args.length === 0) {
    process.stdout.write(firstSteps)
    return 0
  }
  try {
    const program = await openProgram(args)
    await program.parseAsync(fullForm(program, args), { from: 'user' })
    return 0
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2
    return reportFailure('sluice', error, nextStepAfter(error))
  }
}
