import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { createAccessKey } from '@sluice/access-keys'
import { pathOf } from '@sluice/bucket-uploads'
import { readSettings } from '@sluice/config'
import { encryptionKeysOf } from '@sluice/local-stack'
import { parse } from 'yaml'
import { z } from 'zod'
import { peakMemory } from '../../memory/peak-memory.ts'
import type { BucketOwner } from '../../s3-gateway/bucket-owner.ts'
import { openApp } from '../../stack/client.ts'
import { type RunningStack, type StackAccess, startStack } from '../../stack/running-stack.ts'

export const appNames = ['api', 'worker', 'dashboard', 's3-gateway'] as const
export type AppName = (typeof appNames)[number]

export interface StackUrls {
  api: string
  dashboard: string
  s3Gateway: string
}

/** Time slice of an import, ms. Shorter than the default to keep runs short. A small import may wait for two slices. */
export const sliceMs = 5_000

const settingsOfRun = { IMPORT_SLICE: `${sliceMs}ms` }

/** Starts the stack of `npm start` with two workers. */
export async function startHostileStack(env: Record<string, string> = {}): Promise<RunningStack> {
  return await startStack({ workers: 2, env: { ...settingsOfRun, ...env } })
}

export async function urlsOf(stack: StackAccess): Promise<StackUrls> {
  const { api, dashboard, s3_gateway: s3Gateway } = await stack.info()
  assert(dashboard && s3Gateway)
  return { api, dashboard, s3Gateway }
}

/** Returns the process IDs by app. */
async function pidsOf(stack: RunningStack): Promise<Record<AppName, number[]>> {
  const { processes } = await stack.info()
  return byApp((name) => processes[name.replace('-', '_')] ?? [])
}

/** Creates an app with these users and an access key. */
export async function openTenant(stack: StackAccess, users: readonly string[]): Promise<BucketOwner> {
  const app = await openApp(stack, users)
  const environment = { ENCRYPTION_KEYS: await encryptionKeysOf(stack.home, {}) }
  const { ENCRYPTION_KEYS } = readSettings(environment, ['ENCRYPTION_KEYS'])
  const key = await createAccessKey(stack.db, ENCRYPTION_KEYS, app.appId)
  const { s3Gateway } = await urlsOf(stack)
  return { ...app, ...key, path: pathOf(app.appId), gateway: s3Gateway }
}

export interface Watched {
  /** Peak resident memory of a process, by app, bytes. */
  peaks: Record<AppName, number>
  ended: Record<AppName, number>
}

const watchIntervalMs = 250

/** Watches the processes that are running now until `end` is called. */
export async function watchProcesses(stack: RunningStack): Promise<{ end(): Promise<Watched> }> {
  const pids = await pidsOf(stack)
  const watched = appNames.flatMap((app) => pids[app].map((pid) => ({ app, pid, peak: 0, isRunning: true })))
  // Resets the peaks that Linux records.
  if (process.platform === 'linux')
    await Promise.all(watched.map(({ pid }) => writeFile(`/proc/${pid}/clear_refs`, '5')))
  const ending = new AbortController()
  const sample = async () => {
    for (const one of watched) {
      const memory = await peakMemory(one.pid)
      one.peak = Math.max(one.peak, memory)
      if (memory === 0) one.isRunning = false
    }
  }
  const watching = (async () => {
    while (!ending.signal.aborted) {
      await sample()
      await delay(watchIntervalMs, undefined, { signal: ending.signal }).catch(() => {})
    }
  })()
  return {
    async end() {
      ending.abort()
      await watching
      await sample()
      const of = (app: AppName) => watched.filter((one) => one.app === app)
      return {
        peaks: byApp((app) => Math.max(0, ...of(app).map(({ peak }) => peak))),
        ended: byApp((app) => of(app).filter(({ isRunning }) => !isRunning).length),
      }
    },
  }
}

function byApp<Value>(value: (app: AppName) => Value): Record<AppName, Value> {
  return {
    api: value('api'),
    worker: value('worker'),
    dashboard: value('dashboard'),
    's3-gateway': value('s3-gateway'),
  }
}

const limitOfApp = z.object({ resources: z.object({ limits: z.object({ memory: z.string().regex(/^\d+Mi$/) }) }) })
const values = z.object({
  apps: z.object({ api: limitOfApp, worker: limitOfApp, dashboard: limitOfApp, 's3-gateway': limitOfApp }),
})

/** Reads the memory limits of the chart, bytes. */
export function memoryLimitsOfChart(): Record<AppName, number> {
  const file = new URL('../../../../infra/helm/sluice/values.yaml', import.meta.url)
  const { apps } = values.parse(parse(readFileSync(file, 'utf8')))
  return byApp((name) => Number.parseInt(apps[name].resources.limits.memory, 10) * 2 ** 20)
}
