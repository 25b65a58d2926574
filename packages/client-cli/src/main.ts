#!/usr/bin/env node
import { runCommand } from './run.ts'

// If the reader of the output closes it early (`sluice-client show … | head`), that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0)
  throw error
})

process.exitCode = await runCommand(process.argv.slice(2))
