import { runTool } from './run-tool.ts'

// npm run test:unit and npm run test:watch: arguments go to vitest.
process.exitCode = await runTool('vitest', process.argv.slice(2))
