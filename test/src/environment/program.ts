import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'

/**
 * The environment variables that a Node process inherits from this process. The cache of compiled code halves the time
 * until the process is ready.
 */
export const nodeEnvironment = {
  PATH: process.env.PATH ?? '',
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE ?? '',
}

/** Running children that are killed when this process exits. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** Kills a child when this process exits, so that an interrupted run leaves nothing running. */
export function killAtExit(child: ChildProcess): void {
  running.add(child)
  child.once('exit', () => running.delete(child))
}

/** Sends a signal to a child, and waits until it has ended. Does nothing if it has ended already. */
export async function endChild(child: ChildProcess, signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exited = once(child, 'exit')
  child.kill(signal)
  await exited
}

/**
 * Whether a program is on the path. With `CI=true`, a missing program is an error, so that no test is skipped
 * unnoticed.
 */
export async function hasProgram(name: string): Promise<boolean> {
  const child = spawn(name, ['--version'], { stdio: 'ignore' })
  const [failure] = (await Promise.race([once(child, 'error'), once(child, 'spawn')])) as [Error | undefined]
  if (failure === undefined) return true
  if (process.env.CI === 'true') throw new Error(`CI needs ${name} on the path`)
  console.warn(`Tests are skipped: there is no ${name} on the path.`)
  return false
}

/**
 * Runs a program to its end with `input` on stdin. `env` replaces the environment. Returns the exit code and the
 * output.
 */
export async function runProgram(
  name: string,
  args: readonly string[],
  { input = '', cwd, env }: { input?: string; cwd?: string; env?: Record<string, string> } = {},
): Promise<{ code: number; output: string }> {
  const child = spawn(name, args, {
    stdio: 'pipe',
    ...(cwd !== undefined && { cwd }),
    ...(env !== undefined && { env }),
  })
  child.stdin.on('error', () => {}) // the program may end before it has read all input
  child.stdin.end(input)
  const [[code], stdout, stderr] = await Promise.all([once(child, 'close'), text(child.stdout), text(child.stderr)])
  return { code: typeof code === 'number' ? code : 1, output: stdout + stderr }
}
