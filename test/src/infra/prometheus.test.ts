import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { parse, stringify } from 'yaml'
import { z } from 'zod'
import { hasProgram, runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'

const infra = fileURLToPath(new URL('../../../infra/', import.meta.url))
const hasPromtool = await hasProgram('promtool')

const alerts = z
  .object({
    groups: z.array(
      z.object({
        rules: z.array(
          z.object({ alert: z.string(), expr: z.string(), annotations: z.object({ runbook_url: z.string() }) }),
        ),
      }),
    ),
  })
  .parse(parse(readFileSync(join(infra, 'prometheus', 'alerts.yml'), 'utf8')))
  .groups.flatMap(({ rules }) => rules)

const dashboard = z
  .object({
    uid: z.string(),
    title: z.string(),
    schemaVersion: z.number(),
    templating: z.object({
      list: z.tuple([
        z.object({ name: z.literal('datasource'), type: z.literal('datasource'), query: z.literal('prometheus') }),
      ]),
    }),
    panels: z
      .array(
        z.object({
          id: z.number(),
          title: z.string().min(1),
          type: z.literal('timeseries'),
          datasource: z.object({ uid: z.string().regex(/^\$\{datasource\}$/) }),
          gridPos: z.object({ h: z.number(), w: z.number(), x: z.number().max(23), y: z.number() }),
          targets: z.array(z.object({ refId: z.string(), expr: z.string().min(1) })).min(1),
        }),
      )
      .min(1),
  })
  .parse(JSON.parse(readFileSync(join(infra, 'grafana', 'sluice.json'), 'utf8')))

test.skipIf(!hasPromtool)('the configurations are valid, and the alert rules fire as specified', async () => {
  for (const args of [
    ['check', 'config', 'prometheus.yml'],
    ['check', 'config', 'static.yml'],
    ['test', 'rules', 'alerts.test.yml'],
  ]) {
    const { code, output } = await runProgram('promtool', args, { cwd: join(infra, 'prometheus') })
    expect([code, output]).toEqual([0, expect.anything()])
  }
})

test.skipIf(!hasPromtool)('every panel of the dashboard has a valid query', async () => {
  await using scratch = await openScratch('sluice-rules-')
  const rules = dashboard.panels.flatMap(({ id, targets }) =>
    targets.map(({ refId, expr }) => ({ record: `panel:${id}:${refId}`, expr })),
  )
  const file = join(scratch.path, 'panels.yml')
  await writeFile(file, stringify({ groups: [{ name: 'panels', rules }] }))
  const { code, output } = await runProgram('promtool', ['check', 'rules', file])
  expect([code, output]).toEqual([0, expect.anything()])
})

test('panels of the dashboard have unique IDs and do not overlap', () => {
  const places = dashboard.panels.map(({ gridPos: { x, y } }) => `${x} ${y}`)
  expect(new Set(places).size).toBe(dashboard.panels.length)
  expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length)
})

test('every alert leads to an entry of the runbook in the dashboard under its name', () => {
  const runbook = readFileSync(join(infra, '..', 'docs', 'operations.md'), 'utf8')
  const headings = [...runbook.matchAll(/^#+ (\w+)$/gm)].map(([, heading = '']) => heading)
  for (const { alert, annotations } of alerts) {
    expect(headings).toContain(alert)
    const path = `/queues/runbook#${alert.toLowerCase()}`
    expect(annotations.runbook_url).toBe(`{{ $externalLabels.sluice_dashboard }}${path}`)
  }
})
