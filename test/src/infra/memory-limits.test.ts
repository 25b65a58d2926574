import { readFileSync } from 'node:fs'
import { memoryLimits } from '@sluice/local-stack'
import { expect, test } from 'vitest'

/** What says how a worker and an S3 gateway are to be started. */
const places = ['README.md', 'docs/operations.md', 'infra/compose.yaml', 'infra/helm/sluice/values.yaml']
const commands = places.flatMap((place) =>
  (['worker', 's3-gateway'] as const).map((app) => ({ place, app, options: optionsIn(place, app) })),
)

/** Node's options of memory that stand before an app, in a line of a shell or a list of YAML. */
function optionsIn(place: string, app: string): string[] {
  const text = readFileSync(new URL(`../../../${place}`, import.meta.url), 'utf8')
  const [start = ''] = text.split(`apps/${app}/src/main.ts`)
  const [options = ''] = /(?:--[\w-]+=\d+[\s,-]+)*$/.exec(start) ?? []
  return options.match(/--[\w-]+=\d+/g) ?? []
}

test.each(commands)('$place starts a $app with the limits of memory that npm start sets', ({ app, options }) => {
  expect(options).toEqual(memoryLimits[app])
})
