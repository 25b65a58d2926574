import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'vitest'

const maxOutputBytes = 16 * 1024 * 1024

/**
 * Defines a test that needs a program. If the program is not on the path, the test is skipped, and its name states the
 * reason. With CI=true, the test fails instead.
 */
export function testWith(program: string, name: string, work: (path: string) => Promise<void>): void {
  const path = findProgram(program)
  if (path !== undefined) {
    test(name, () => work(path))
  } else if (process.env.CI === 'true') {
    test(name, () => {
      throw new Error(`with CI=true, ${program} must be installed`)
    })
  } else {
    test.skip(`${name} (skipped: ${program} is not on the path)`)
  }
}

/** Runs a program to its end. Returns its output. Rejects, with the output, if the program fails. */
export async function runProgram(
  path: string,
  args: string[],
  environment: Record<string, string> = {},
): Promise<string> {
  // The environment must not pass on settings for proxies and certificates, which would change the behaviour of
  // clients.
  const { PATH = '', TMPDIR = '/tmp' } = process.env
  const { stdout } = await promisify(execFile)(path, args, {
    env: { PATH, TMPDIR, ...environment },
    maxBuffer: maxOutputBytes,
    timeout: 50_000,
  })
  return stdout
}

function findProgram(program: string): string | undefined {
  const candidates = (process.env.PATH ?? '').split(delimiter).map((directory) => join(directory, program))
  return candidates.find((path) => {
    try {
      accessSync(path, constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
