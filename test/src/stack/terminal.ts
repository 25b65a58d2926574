import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { onTestFinished } from 'vitest'

/** A program that runs on a terminal of its own (`script` of util-linux, so only on Linux). */
export interface Terminal {
  /** Everything that the terminal has shown. */
  shown(): string
  /** Presses keys; `\x03` is Ctrl-C. */
  type(keys: string): void
  /** Resolves with the exit code of the program; 128 and the number of the signal that ended it. */
  code: Promise<number | null>
}

/** Runs an app of the repository on a new terminal with so many columns. It ends with the test at the latest. */
export function openTerminal(app: string, args: readonly string[], env: NodeJS.ProcessEnv, columns = 80): Terminal {
  const main = fileURLToPath(new URL(`../../../apps/${app}/src/main.ts`, import.meta.url))
  // `exec`, because Ctrl-C also reaches a shell that waits, and dash would end with 130 whatever the program does.
  const command = [`stty cols ${columns}; exec`, process.execPath, main, ...args].join(' ')
  const child = spawn('script', ['-qefc', command, '/dev/null'], { env: { ...process.env, ...env }, stdio: 'pipe' })
  let shown = ''
  child.stdout.on('data', (text) => {
    shown += text
  })
  const code = new Promise<number | null>((resolve) => child.once('exit', resolve))
  onTestFinished(() => void child.kill('SIGKILL'))
  return { shown: () => shown, type: (keys) => void child.stdin.write(keys), code }
}
