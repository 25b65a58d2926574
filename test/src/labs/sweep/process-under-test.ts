import { setTimeout as delay } from 'node:timers/promises'
import { type ServerName, serverNames } from './points.ts'
import { type Subject, startSubject } from './subject/start.ts'
import type { SweepSystem } from './system.ts'
import { readHttpUnits } from './wire/http.ts'
import { type Fate, type MessageProxy, startMessageProxy } from './wire/message-proxy.ts'
import { readPostgresUnits } from './wire/postgres.ts'
import { readRedisUnits } from './wire/redis.ts'
import { readSmtpUnits } from './wire/smtp.ts'
import type { Unit } from './wire/unit.ts'

const readers = {
  postgres: readPostgresUnits,
  redis: readRedisUnits,
  storage: readHttpUnits,
  mail: readSmtpUnits,
}

export interface ProcessUnderTest extends Subject {
  /** Returns for how long the process has sent and received nothing, ms. */
  quietFor(): number
  /** Waits until the process has sent and received nothing for `ms`. */
  untilQuiet(ms: number): Promise<void>
  close(): Promise<void>
}

export type Decide = (server: ServerName, unit: Unit) => Fate

/** Starts a process under test that hosts `apps`, and makes the system's addresses lead to it. */
export async function startProcessUnderTest(
  system: SweepSystem,
  entry: string,
  apps: readonly string[],
  decide: Decide,
): Promise<ProcessUnderTest> {
  const proxies: Partial<Record<ServerName, MessageProxy>> = {}
  const ports = { ...system.ports }
  const all = () => Object.values(proxies)
  for (const server of serverNames) {
    if (system.ports[server] === 0) continue
    const proxy = await startMessageProxy(system.ports[server], readers[server], (unit) => decide(server, unit))
    proxies[server] = proxy
    ports[server] = proxy.port
  }
  const quietFor = () => performance.now() - Math.max(...all().map((proxy) => proxy.lastPassed()))
  const closeProxies = async () => void (await Promise.all(all().map((proxy) => proxy.close())))
  const env = { ...system.settings(ports), SWEEP_APPS: apps.join(',') }
  const subject = await startSubject(entry, env).catch(async (error: unknown) => {
    await closeProxies()
    throw error
  })
  const api = subject.apiUrl === undefined ? 0 : Number(new URL(subject.apiUrl).port)
  system.leadTo({ api, gateway: subject.gatewayPort ?? 0 })
  return {
    ...subject,
    quietFor,
    async untilQuiet(ms) {
      for (let left = ms; left > 0; left = ms - quietFor()) await delay(left)
    },
    async close() {
      subject.kill('SIGKILL')
      await subject.exited
      await closeProxies()
    },
  }
}
