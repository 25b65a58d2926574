import { ScaledObject, TriggerAuthentication } from '@kubernetes-models/keda/keda.sh/v1alpha1'
import { type SettingName, settings } from '@sluice/config'
import { Deployment } from 'kubernetes-models/apps/v1'
import { Job } from 'kubernetes-models/batch/v1'
import { NetworkPolicy } from 'kubernetes-models/networking.k8s.io/v1'
import { PodDisruptionBudget } from 'kubernetes-models/policy/v1'
import { ConfigMap, Service } from 'kubernetes-models/v1'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { appNames } from '../environment/refused-settings.ts'
import { fits, readValues, rendered, renderFile, valuesWith } from './chart-fixture.ts'
import { renderTemplate } from './chart-template.ts'
import { secrets } from './secrets-of-app.ts'

const models = [
  ConfigMap,
  Deployment,
  Job,
  NetworkPolicy,
  PodDisruptionBudget,
  ScaledObject,
  Service,
  TriggerAuthentication,
]

const named = (manifests: ReturnType<typeof rendered>, kind: string) =>
  manifests.filter((each) => each.kind === kind).map(({ metadata }) => metadata.name)

describe('the Helm chart', () => {
  test.each([
    ['as it is', () => {}],
    [
      'without what is optional',
      (values: Record<string, Record<string, unknown>>) => {
        Object.assign(values.autoscaling ?? {}, { enabled: false })
        Object.assign(values.networkPolicies ?? {}, { enabled: false })
      },
    ],
  ])('%s renders manifests that fit the schemas of Kubernetes and KEDA', (_, change) => {
    for (const each of rendered(change)) {
      const model = models.find((known) => known.kind === each.kind && known.apiVersion === each.apiVersion)
      if (model === undefined) throw new Error(`there is no schema for ${each.apiVersion} ${each.kind}`)
      const validate = () => Reflect.construct(model, [each]).validate()
      expect(validate, `${each.kind} ${each.metadata.name}`).not.toThrow()
    }
  })

  test('the schemas reject invalid manifests', () => {
    const [deployment] = rendered().filter(({ kind }) => kind === 'Deployment')
    expect(() => Reflect.construct(Deployment, [{ ...deployment, spec: { replicas: 'many' } }]).validate()).toThrow()
  })

  test('has a deployment, a disruption budget and a network policy for every app, and a service for each port', () => {
    const manifests = rendered()
    const apps = ['sluice-api', 'sluice-dashboard', 'sluice-s3-gateway', 'sluice-worker']
    for (const kind of ['Deployment', 'PodDisruptionBudget']) expect(named(manifests, kind)).toEqual(apps)
    expect(named(manifests, 'NetworkPolicy').toSorted()).toEqual([...apps, 'sluice-migrate'].toSorted())
    expect(named(manifests, 'Service')).toEqual(['sluice-api', 'sluice-dashboard', 'sluice-s3-gateway'])
  })

  test.each([
    ['a misspelt value', { autoscalling: { enabled: false } }],
    ['a misspelt value of an app', { apps: { worker: { replica: 3 } } }],
    ['text instead of a number', { apps: { api: { replicas: 'two' } } }],
    ['an app that does not exist', { apps: { gateway: {} } }],
    ['a setting that is a list', { settings: { DASHBOARD_TRUSTED_PROXIES: ['10.0.0.0/8'] } }],
    ['a secret among the values', { existingSecret: { DATABASE_URL: 'postgres://…' } }],
    ['a port that does not exist', { networkPolicies: { egressPorts: [70_000] } }],
  ])('refuses %s by the schema of its values', (_, changes) => {
    const merge = (into: Record<string, unknown>, from: object) => {
      for (const [name, value] of Object.entries(from)) {
        const known = into[name]
        const isNested = value instanceof Object && known instanceof Object && !Array.isArray(value)
        if (isNested) merge(known as Record<string, unknown>, value)
        else into[name] = value
      }
    }
    expect(fits(valuesWith((values) => merge(values, changes)))).toBe(false)
  })

  test('gives the pods a service account and certificate authorities if the values name them', () => {
    const pods = (manifests: ReturnType<typeof rendered>) =>
      JSON.stringify(manifests.filter(({ kind }) => kind === 'Deployment' || kind === 'Job'))
    expect(pods(rendered())).not.toMatch(/serviceAccountName|\/etc\/sluice/)
    const named = rendered((values) => Object.assign(values, { serviceAccountName: 'sluice', certificates: 'company' }))
    expect(pods(named).match(/"serviceAccountName":"sluice"/g)).toHaveLength(appNames.length)
    expect(pods(named).match(/"configMap":\{"name":"company"\}/g)).toHaveLength(appNames.length + 1)
    expect(pods(named).match(/"mountPath":"\/etc\/sluice","readOnly":true/g)).toHaveLength(appNames.length + 1)
  })

  test('gives containers no writable files of their own and no capabilities', () => {
    const pods = JSON.stringify(rendered().filter(({ kind }) => kind === 'Deployment' || kind === 'Job'))
    const context = { allowPrivilegeEscalation: false, readOnlyRootFilesystem: true, capabilities: { drop: ['ALL'] } }
    expect(pods.split(`"securityContext":${JSON.stringify(context)}`)).toHaveLength(appNames.length + 2)
  })

  test('tells the migration the number of the cell, which it cannot read from the settings yet', () => {
    const migration = (cell?: string) => {
      const manifests = rendered((values) => Object.assign(values.settings ?? {}, cell !== undefined && { CELL: cell }))
      return JSON.stringify(manifests.find(({ kind }) => kind === 'Job'))
    }
    expect(migration()).not.toContain('CELL')
    expect(migration('3')).toContain('{"name":"CELL","value":"3"}')
  })

  test('demands the secrets without which no process starts, and no others', () => {
    const optional = z.array(z.string()).parse(valuesWith().optionalSecrets)
    const required = secrets.filter((name) => !optional.includes(name))
    expect(required).toEqual([
      'DATABASE_URL',
      'S3_ACCESS_KEY_ID',
      'S3_SECRET_ACCESS_KEY',
      'SMTP_URL',
      'ENCRYPTION_KEYS',
    ])
  })

  test('leaves the number of workers to KEDA if KEDA is enabled', () => {
    const replicas = (manifests: ReturnType<typeof rendered>) =>
      z
        .object({ replicas: z.number().optional() })
        .parse(manifests.find(({ kind, metadata }) => kind === 'Deployment' && metadata.name === 'sluice-worker')?.spec)
        .replicas
    expect(replicas(rendered())).toBeUndefined()
    expect(replicas(rendered((values) => Object.assign(values.autoscaling ?? {}, { enabled: false })))).toBe(2)
  })

  test('sets only known settings, all settings without a default, and no secret', () => {
    const { data = {} } = rendered().find(({ kind }) => kind === 'ConfigMap') ?? {}
    for (const [name, value] of Object.entries(data)) {
      expect(settings[name as SettingName]?.schema.safeParse(value).success, name).toBe(true)
      expect<readonly string[]>(secrets).not.toContain(name)
    }
    const required = Object.entries(settings).filter(
      ([, setting]) => !('default' in setting) && !('optional' in setting),
    )
    const given = [...Object.keys(data), ...secrets]
    expect(required.map(([name]) => name).filter((name) => !given.includes(name))).toEqual([])
  })

  test('does not render without the trusted proxies of the dashboard, which are needed to distinguish clients', () => {
    const without = (values: Record<string, Record<string, unknown>>) => {
      if (values.settings !== undefined) values.settings.DASHBOARD_TRUSTED_PROXIES = ''
    }
    expect(() => rendered(without)).toThrow('settings.DASHBOARD_TRUSTED_PROXIES is required')
    expect(readValues().settings.DASHBOARD_TRUSTED_PROXIES).toBe('')
  })

  test('says after an installation how to look at the pods, reach the services and sign in', () => {
    const notes = renderFile('NOTES.txt', valuesWith())
    expect(notes).toContain('kubectl -n imports get pods -l app.kubernetes.io/instance=sluice')
    for (const service of named(rendered(), 'Service')) expect(notes).toContain(` -> ${service}\n`)
    expect(notes).toContain('https://dashboard.example.com -> sluice-dashboard')
    expect(notes).toContain('exec deploy/sluice-dashboard -- node apps/cli/src/main.ts operators add')
    expect(notes).not.toContain('KEDA')
    const unscaled = valuesWith((values) => Object.assign(values.autoscaling ?? {}, { enabled: false }))
    expect(renderFile('NOTES.txt', unscaled)).toContain('set apps.worker.replicas, or install KEDA')
  })

  test('does not accept published secrets', () => {
    expect(JSON.stringify(rendered())).not.toContain('PUBLISHED_SECRETS')
  })

  test('uses no construct of the template language that this test cannot render', () => {
    expect(() => renderTemplate('{{ include "x" . }}', {})).toThrow()
    expect(() => renderTemplate('{{ .Values.a | upper }}', { Values: { a: 'x' } })).toThrow()
    expect(
      renderTemplate('a {{- range $k, $v := .m }}\n{{ $k }}={{ $v | quote }}{{- end }}', { m: { b: 2, a: 1 } }),
    ).toBe('a\na="1"\nb="2"')
  })
})
