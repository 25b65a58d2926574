import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { startStack } from '../stack/running-stack.ts'
import { type LoadRequest, type LoadResult, load } from './load.ts'

const clients = 200
const users = 10_000
const waveMs = 5_000
const waves = 3
const target = 0.6

/**
 * 200 clients update profiles, beside a bare Fastify route that does one INSERT on the same Postgres; waves alternate. Gives
 * whether the API has at least 0.6 of the yardstick's rate, without an error.
 */
export async function benchApi(): Promise<boolean> {
  const stack = await startStack({ env: { RATE_LIMIT_PROFILE_UPDATE: '100000000/60s', LOG_LEVEL: 'warn' } })
  const { database } = await stack.info()
  const yardstick = fork(fileURLToPath(new URL('./yardstick-server.ts', import.meta.url)), {
    env: { ...process.env, DATABASE_URL: database },
  })
  try {
    const [yardstickUrl] = await once(yardstick, 'message')
    const api = await profileUpdates(stack)
    const bare: LoadRequest = { ...api, url: String(yardstickUrl), headers: {} }
    const results: { api: LoadResult[]; bare: LoadResult[] } = { api: [], bare: [] }
    for (let wave = 0; wave <= waves; wave++) {
      const [first, second] = [await load(api, clients, waveMs), await load(bare, clients, waveMs)]
      if (wave === 0) continue // warm-up
      results.api.push(first)
      results.bare.push(second)
    }
    return report(results.api, results.bare)
  } finally {
    yardstick.disconnect()
    await stack.stop()
  }
}

async function profileUpdates(stack: Awaited<ReturnType<typeof startStack>>): Promise<LoadRequest> {
  const created = await stack.sluice('app', 'create', '--name', 'Bench', '--email', 'bench@example.com')
  const { app_id: app, api_token: token } = created.json as { app_id: number; api_token: string }
  const ids = Array.from({ length: users }, (_, i) => `user-${i}\n`).join('')
  await stack.pipeToSluice(ids, 'users', 'register', '--app', String(app))
  let count = 0
  const body = () => {
    count++
    return JSON.stringify({
      user_id: `user-${(count * 7919) % users}`,
      user_profiles: [
        { key: 'name', type: 'string', value: `Name ${count}` },
        { key: 'visits', type: 'int', value: count },
        { key: 'seen', type: 'datetime', value: '2026-01-01T10:00:00+09:00' },
      ],
    })
  }
  return { url: `${stack.api}/v2/user_profiles`, headers: { 'X-Service-Token': token }, body, expected: 202 }
}

function report(api: LoadResult[], bare: LoadResult[]): boolean {
  const rate = (results: LoadResult[]) => median(results.map(({ perSecond }) => perSecond))
  const ratio = rate(api) / rate(bare)
  const errors = api.reduce((sum, result) => sum + result.errors, 0)
  const line = (name: string, results: LoadResult[]) =>
    `${name.padEnd(28)}${rate(results).toFixed(0).padStart(7)}/s  median ${median(results.map((r) => r.median)).toFixed(0)} ms  p99 ${median(results.map((r) => r.p99)).toFixed(0)} ms`
  console.log(`${clients} clients, median of ${waves} waves of ${waveMs / 1000} s`)
  console.log(line('profile update', api))
  console.log(line('bare Fastify, one INSERT', bare))
  console.log(`ratio ${ratio.toFixed(2)} (target ${target}), errors ${errors}`)
  return ratio >= target && errors === 0
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN
}
