import { runCommand } from '@sluice/cli-app/src/run.ts'

/** The commands so far: the next one begins afterwards, because environment and output belong to the whole process. */
let preceding: Promise<unknown> = Promise.resolve()

/**
 * Runs `sluice` with `--json` against a database, in this process. `test/src/stack/command-line.test.ts` runs it as a
 * process. Returns the exit code, the output, and the parsed document.
 */
export async function sluice(
  { url }: { url: string },
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string; json: unknown }> {
  const running = preceding.then(() => run([...args, '--json'], { DATABASE_URL: url, ...env }))
  preceding = running.catch(() => {})
  return await running
}

async function run(args: readonly string[], environment: Record<string, string>) {
  const { env } = process
  const writes = [process.stdout, process.stderr].map((stream) => ({ stream, write: stream.write }))
  let output = ''
  process.env = environment
  for (const { stream } of writes) {
    stream.write = (chunk: string | Uint8Array) => {
      output += typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString()
      return true
    }
  }
  try {
    const code = await runCommand(args)
    return { code, output, json: parse(output) }
  } finally {
    process.env = env
    for (const { stream, write } of writes) stream.write = write
  }
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
