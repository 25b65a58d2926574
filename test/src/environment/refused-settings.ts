import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { nodeEnvironment } from './program.ts'

export const appNames = ['api', 'worker', 'dashboard', 's3-gateway'] as const

export type AppName = (typeof appNames)[number]

/**
 * Starts apps with settings that each of them refuses, and returns what each app prints before its end, with a last
 * line such as `exit 1`.
 */
export async function refusals(
  apps: readonly AppName[],
  settings: Readonly<Record<string, string>>,
): Promise<ReadonlyMap<string, string>> {
  const entry = fileURLToPath(new URL('refused-settings-process.ts', import.meta.url))
  const env = { ...nodeEnvironment, ...settings }
  const printed = await new Promise<string>((resolve) => {
    execFile(process.execPath, [entry, ...apps], { env }, (_, stdout, stderr) => resolve(stdout + stderr))
  })
  const reports = printed.split(/^app /m).slice(1)
  return new Map(
    reports.map((report) => {
      const [app = ''] = report.split('\n', 1)
      return [app, report.slice(app.length + 1)]
    }),
  )
}
