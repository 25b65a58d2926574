import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { hasProgram, runProgram } from '../environment/program.ts'
import { appNames } from '../environment/refused-settings.ts'
import { openScratch } from '../environment/scratch.ts'

const root = fileURLToPath(new URL('../../../', import.meta.url))
const units = appNames.map((app) => {
  const name = `sluice-${app}.service`
  return { app, name, text: readFileSync(join(root, 'infra/systemd', name), 'utf8') }
})

test.each(units)(
  '$name starts its app on Node 24, restarts it always, and stops it no sooner than it needs',
  ({ app, text }) => {
    expect(text).toMatch(
      new RegExp(
        `^ExecStart=/opt/sluice/node_modules/\\.bin/node (?:--\\S+\\s+(?:\\\\\\s+)?)*apps/${app}/src/main\\.ts$`,
        'm',
      ),
    )
    expect(text).toContain('\nRestart=always\n')
    expect(Number(/^TimeoutStopSec=(\d+)$/m.exec(text)?.[1])).toBeGreaterThan(app === 'worker' ? 9.5 : 20)
  },
)

test('the units of one machine have different ports for metrics, which static.yml scrapes under the names of the apps', () => {
  const scraped = readFileSync(join(root, 'infra/prometheus/static.yml'), 'utf8')
  const targets = units.map(({ app, text }) => {
    const [, port] = /^Environment=METRICS_PORT=(\d+)$/m.exec(text) ?? []
    return `{ targets: ["localhost:${port}"], labels: { app: ${app} } }`
  })
  for (const target of targets) expect(scraped).toContain(target)
  expect(new Set(targets).size).toBe(units.length)
})

test.skipIf(!(await hasProgram('systemd-analyze')))('systemd accepts the units', async () => {
  await using scratch = await openScratch('sluice-units-')
  const files = units.map(({ name }) => join(scratch.path, name))
  // systemd looks for the program.
  for (const [index, { text }] of units.entries())
    await writeFile(files[index] ?? '', text.replaceAll('/opt/sluice/', root))
  const { code, output } = await runProgram('systemd-analyze', ['verify', '--man=no', ...files])
  expect([code, output.replaceAll(/^(?!.*sluice-).*\n?/gm, '')]).toEqual([0, ''])
})
