import { printableLines } from '@sluice/local-stack/printable'
import { CommanderError } from 'commander'
import { Failure } from './failure.ts'
import { firstSteps, fullForm, openProgram } from './program.ts'

/**
 * Runs the command of `sluice` that these arguments name, and prints its output, or its error on stderr
 * (design.md §2, Output). Returns the exit code: 0, 1 after a failure, 2 after wrong usage.
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
    const message = error instanceof Error ? describe(error) : String(error)
    // A progress line may have been interrupted: the error replaces it.
    const lineStart = process.stderr.isTTY ? '\r\x1b[K' : ''
    process.stderr.write(`${lineStart}${printableLines(`sluice: ${message}`)}\n`)
    return error instanceof Failure ? error.exitCode : 1
  }
}

/**
 * Returns an error's message. An `AggregateError` has none of its own, so the messages of its causes are joined. Node
 * throws it if every address of a host refuses the connection.
 */
function describe(error: Error): string {
  return error instanceof AggregateError ? error.errors.map((cause: Error) => cause.message).join(', ') : error.message
}
