import { Readable } from 'node:stream'
import { runCommand } from '@sluice/cli-app/src/run.ts'

export interface PrintedCommand {
  code: number
  stdout: string
  stderr: string
}

/** The commands so far: the next one begins afterwards, because environment and output belong to the whole process. */
let preceding: Promise<unknown> = Promise.resolve()

/**
 * Runs `sluice` in this process, in an environment of its own, with `input` on stdin. `stack/command-line.test.ts` also
 * runs the process.
 */
export async function runSluice(
  args: readonly string[],
  environment: Record<string, string>,
  input = '',
): Promise<PrintedCommand> {
  const running = preceding.then(() => run(args, environment, input))
  preceding = running.catch(() => {})
  return await running
}

async function run(
  args: readonly string[],
  environment: Record<string, string>,
  input: string,
): Promise<PrintedCommand> {
  const { env } = process
  const stdin = Object.getOwnPropertyDescriptor(process, 'stdin') ?? {}
  const printed = { stdout: '', stderr: '' }
  const writes = (['stdout', 'stderr'] as const).map((name) => ({ name, write: process[name].write }))
  process.env = environment
  Object.defineProperty(process, 'stdin', { value: Readable.from([Buffer.from(input)]), configurable: true })
  for (const { name } of writes) {
    process[name].write = (chunk: string | Uint8Array) => {
      printed[name] += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
      return true
    }
  }
  try {
    const code = await runCommand(args)
    return { code, ...printed }
  } finally {
    process.env = env
    Object.defineProperty(process, 'stdin', stdin)
    for (const { name, write } of writes) process[name].write = write
  }
}
