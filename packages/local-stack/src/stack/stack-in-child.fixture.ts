// Starts a stack with the options in the argument (JSON), sends its info to the parent, and keeps it running.
import { startStack } from './start.ts'

const stack = await startStack({ ...JSON.parse(process.argv[2] ?? '{}'), log: () => {} })
process.send?.(stack.info)
