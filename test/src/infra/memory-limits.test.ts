import { readFileSync } from 'node:fs'
import { memoryLimits } from '@sluice/local-stack'
import { expect, test } from 'vitest'

/** Files that contain the start commands of APIs, workers and S3 gateways. */
const places = ['docs/settings.md', 'docs/operations.md', 'infra/compose.yaml', 'infra/helm/sluice/values.yaml']
const commands = (['api', 'worker', 's3-gateway'] as const).flatMap((app) =>
  [...places, `infra/systemd/sluice-${app}.service`].map((place) => ({ place, app, options: optionsIn(place, app) })),
)

/** Returns Node's memory options preceding an app's path, in a shell command or a YAML list. */
function optionsIn(place: string, app: string): string[] {
  const text = readFileSync(new URL(`../../../${place}`, import.meta.url), 'utf8')
  const [start = ''] = text.split(`apps/${app}/src/main.ts`)
  const [options = ''] = /(?:--[\w-]+=\d+[\s,\\-]+)*$/.exec(start) ?? []
  return options.match(/--[\w-]+=\d+/g) ?? []
}

test.each(commands)('$place starts a $app with the memory limits that npm start sets', ({ app, options }) => {
  expect(options).toEqual(memoryLimits[app])
})
