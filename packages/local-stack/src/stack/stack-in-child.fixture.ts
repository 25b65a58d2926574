// Starts a stack with the options given as JSON, tells the parent what runs, and then only holds it.
import { startStack } from './start.ts'

const stack = await startStack({ ...JSON.parse(process.argv[2] ?? '{}'), log: () => {} })
process.send?.(stack.info)
