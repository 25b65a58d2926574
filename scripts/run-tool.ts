import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { root } from './modules.ts'

const bin = join(root, 'node_modules', '.bin')

/** Runs a command of an installed package on Node 24, with this process's streams. Returns its exit code. */
export async function runTool(command: string, args: readonly string[]): Promise<number> {
  const child = spawn(join(bin, command), args, {
    cwd: root,
    env: {
      ...process.env,
      PATH: `${bin}:${process.env.PATH}`,
      TURBO_TELEMETRY_DISABLED: '1',
      DO_NOT_TRACK: '1',
    },
    stdio: 'inherit',
  })
  const [code] = await once(child, 'exit')
  return typeof code === 'number' ? code : 1
}

/** Runs the checks that need no service side by side: lint, types, unused code. Returns 0 if all pass. */
export async function runChecks(): Promise<number> {
  return await runTool('turbo', [
    'run',
    'lint',
    'typecheck',
    'unused',
    '--output-logs=errors-only',
    '--log-order=grouped',
  ])
}
