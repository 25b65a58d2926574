import { execFile } from 'node:child_process'
import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'
import { test } from 'vitest'

const maxOutputBytes = 16 * 1024 * 1024

/**
 * Defines a test that needs a program. Where that isn't on the path the test is skipped and its name says why, unless
 * CI=true: there it fails.
 */
export function testWith(program: string, name: string, work: (path: string) => Promise<void>): void {
  const path = findProgram(program)
  if (path !== undefined) {
    test(name, () => work(path))
  } else if (process.env.CI === 'true') {
    test(name, () => {
      throw new Error(`${program} must be installed where CI=true`)
    })
  } else {
    test.skip(`${name} (skipped: ${program} is not on the path)`)
  }
}

/** Runs a program to its end and gives what it printed. Rejects, with its output, where it fails. */
export async function runProgram(
  path: string,
  args: string[],
  environment: Record<string, string> = {},
): Promise<string> {
  // Proxies and certificates of the machine are none of the test's business.
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
