import { printableLines } from '@sluice/local-stack'
import { CommanderError } from 'commander'
import { Failure } from './failure.ts'
import { buildProgram } from './program.ts'

// If the reader of the output closes it early (`sluice imports | head`), that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

try {
  await buildProgram().parseAsync()
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
