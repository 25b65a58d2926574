import { fileURLToPath } from 'node:url'
import { runProgram } from '../environment/program.ts'

const program = fileURLToPath(new URL('../../../apps/cli/src/main.ts', import.meta.url))

/** Runs `sluice` with `--json` against a database. Returns the exit code, the output, and the parsed document. */
export async function sluice(
  { url }: { url: string },
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string; json: unknown }> {
  const environment = { PATH: process.env.PATH ?? '', DATABASE_URL: url, ...env }
  const { code, output } = await runProgram(process.execPath, [program, ...args, '--json'], { env: environment })
  return { code, output, json: parse(output) }
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
