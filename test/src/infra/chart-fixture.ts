import { readdirSync, readFileSync } from 'node:fs'
import { Ajv } from 'ajv'
import { expect } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { renderTemplate } from './chart-template.ts'
import { secrets } from './secrets-of-app.ts'

const chart = new URL('../../../infra/helm/sluice/', import.meta.url)

const manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({ name: z.string() }),
  spec: z.unknown().optional(),
  data: z.record(z.string(), z.string()).optional(),
})

/** Returns whether values fit the chart's schema. `errors` has the reasons if they do not. */
export const fits = new Ajv({ strict: false, allErrors: true }).compile(
  JSON.parse(readFileSync(new URL('values.schema.json', chart), 'utf8')),
)

export function readValues() {
  return parse(readFileSync(new URL('values.yaml', chart), 'utf8'))
}

/** Returns the chart's values with the required values and with changes. */
export function valuesWith(change: (values: Record<string, Record<string, unknown>>) => void = () => {}) {
  const values = readValues()
  values.settings.DASHBOARD_TRUSTED_PROXIES = '10.244.0.0/16'
  change(values)
  return values
}

/** Renders a template of the chart with values. */
export function renderFile(file: string, values: ReturnType<typeof valuesWith>): string {
  const root = { Release: { Name: 'sluice', Namespace: 'imports' }, Values: values }
  return renderTemplate(readFileSync(new URL(`templates/${file}`, chart), 'utf8'), root)
}

/** Renders all manifests of the chart with its required values and with changes, which must fit the values' schema. */
export function rendered(change: (values: Record<string, Record<string, unknown>>) => void = () => {}) {
  const values = valuesWith(change)
  expect(fits(values) ? [] : fits.errors).toEqual([])
  return readdirSync(new URL('templates/', chart))
    .filter((file) => file.endsWith('.yaml'))
    .flatMap((file) => parseAllDocuments(renderFile(file, values)))
    .map((document) => {
      expect(document.errors).toEqual([])
      return document.toJS()
    })
    .filter((document) => document !== null)
    .map((document) => manifest.parse(document))
}

const podSpec = z.object({
  spec: z.object({
    template: z.object({
      spec: z.object({
        containers: z.tuple([
          z.looseObject({
            envFrom: z.array(z.looseObject({ secretRef: z.unknown().optional() })).default([]),
            env: z
              .array(
                z.object({
                  name: z.string(),
                  valueFrom: z.object({ secretKeyRef: z.looseObject({ name: z.string(), key: z.string() }) }),
                }),
              )
              .default([]),
          }),
        ]),
      }),
    }),
  }),
})

/** Returns the secrets that the pods of a Deployment or a Job get, sorted. */
export function secretsGivenTo(kind: string, name: string): string[] {
  const found = rendered().find((each) => each.kind === kind && each.metadata.name === `sluice-${name}`)
  const [{ envFrom, env }] = podSpec.parse(found).spec.template.spec.containers
  if (envFrom.some(({ secretRef }) => secretRef !== undefined)) return secrets.toSorted()
  expect(env.map((each) => each.valueFrom.secretKeyRef)).toMatchObject(
    env.map((each) => ({ name: 'sluice', key: each.name })),
  )
  return env.map((each) => each.name).toSorted()
}
