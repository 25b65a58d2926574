import { runSluice } from '../environment/sluice-command.ts'

/**
 * Runs `sluice` with `--json` against a database, in this process. Returns the exit code, the output, and the parsed
 * document.
 */
export async function sluice(
  { url }: { url: string },
  args: readonly string[],
  env: Record<string, string> = {},
): Promise<{ code: number; output: string; json: unknown }> {
  const { code, stdout, stderr } = await runSluice([...args, '--json'], { DATABASE_URL: url, ...env })
  const output = stdout + stderr
  return { code, output, json: parse(output) }
}

function parse(output: string): unknown {
  try {
    return JSON.parse(output)
  } catch {
    return undefined
  }
}
