import { runChecks } from './run-tool.ts'

// npm run check: lint, types and unused code.
process.exitCode = await runChecks()
