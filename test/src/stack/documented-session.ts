import { chmod, mkdir, readFile, writeFile } from 'node:fs/promises'
import { delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { StackInfo } from '@sluice/local-stack'
import { onTestFinished } from 'vitest'
import { nodeEnvironment } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'
import { openApp } from './client.ts'
import type { StackAccess } from './running-stack.ts'

// Runs the shell blocks of a document in one shell, as a reader does.

export const root = fileURLToPath(new URL('../../..', import.meta.url))

/** Returns the blocks of language `sh` in a document. */
export function shellBlocks(text: string): string[] {
  return [...text.matchAll(/^```sh\n(.*?)^```$/gms)].map(([, block = '']) => block)
}

/** Replaces the default addresses of `npm start` with the addresses of the running stack. */
export function withAddresses(script: string, info: StackInfo): string {
  const addresses: Record<string, string | undefined> = {
    3000: info.api,
    3001: info.dashboard,
    3002: info.storage,
    3003: info.inbox,
    3006: info.s3_gateway,
  }
  return script.replaceAll(/127\.0\.0\.1:(300\d)\b/g, (host, port) => new URL(addresses[port] ?? `http://${host}`).host)
}

export interface Session {
  folder: string
  env: Record<string, string>
  /** Returns the status and the URL of each answer that `curl` got. */
  httpAnswers(): Promise<string[]>
}

/**
 * Prepares an empty folder and an environment with `$APP`, `$TOKEN`, `npx sluice` and a `curl` that records statuses.
 */
export async function openSession(stack: StackAccess): Promise<Session> {
  const scratch = await openScratch('sluice-readme-')
  onTestFinished(() => scratch[Symbol.asyncDispose]())
  const { path: folder } = scratch
  const [bin, answers] = [join(folder, 'bin'), join(folder, 'answers.log')]
  await mkdir(bin)
  const path = [dirname(process.execPath), process.env.PATH ?? ''].join(delimiter)
  const command = join(root, 'apps', 'cli', 'src', 'main.ts')
  // npm itself would run the command in the repository, where the session's files must not be written.
  for (const [program, start] of [
    ['npx', 'sluice'],
    ['npm', 'run -s sluice --'],
  ] as const) {
    await writeProgram(
      join(bin, program),
      `for word in ${start}; do
  [ "$1" = "$word" ] || { echo "not part of a session: ${program} $*" >&2; exit 1; }
  shift
done
exec '${process.execPath}' '${command}' "$@"`,
    )
  }
  await writeProgram(
    join(bin, 'curl'),
    `PATH='${path}' exec curl --write-out '%{stderr}%{http_code} %{url_effective}\\n' "$@" 2>>'${answers}'`,
  )
  const { appId, token } = await openApp(stack)
  return {
    folder,
    env: {
      ...nodeEnvironment,
      PATH: [bin, path].join(delimiter),
      HOME: folder,
      SLUICE_HOME: stack.home,
      APP: String(appId),
      TOKEN: token,
      AWS_EC2_METADATA_DISABLED: 'true',
    },
    httpAnswers: async () =>
      (await readFile(answers, 'utf8').catch(() => '')).split('\n').filter((line) => line !== ''),
  }
}

async function writeProgram(path: string, script: string): Promise<void> {
  await writeFile(path, `#!/bin/sh\n${script}\n`)
  await chmod(path, 0o755)
}
