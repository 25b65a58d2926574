import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { createApp } from '@sluice/accounts'
import { registerUsers } from '@sluice/profiles'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { type LoadResult, type LoadTarget, load } from './load.ts'
import { quantile } from './statistics.ts'
import { forEachStore } from './stores.ts'

const clients = 200
const users = 10_000
const waveMs = 4_000
const waves = 3
const target = 0.6

/**
 * Compares profile updates by 200 clients to a bare Fastify route that does one INSERT on the same Postgres. Waves of
 * load alternate between the two. In one comparison all clients belong to one app; in the other, each client belongs to
 * a different app.
 *
 * Returns whether the API always reaches 0.6 of the bare route's rate, without an error.
 */
export async function benchApi(): Promise<boolean> {
  console.log(`${clients} clients, median of ${waves} waves of ${waveMs / 1000} s`)
  return await forEachStore(benchStore)
}

async function benchStore(redisUrl: string | undefined): Promise<boolean> {
  const env = { RATE_LIMIT_PROFILE_UPDATE: '100000000/60s', LOG_LEVEL: 'warn' }
  const stack = await startStack({ env, ...(redisUrl !== undefined && { redisUrl }) })
  const { database } = await stack.info()
  const yardstick = fork(fileURLToPath(new URL('./yardstick-server.ts', import.meta.url)), {
    env: { ...process.env, DATABASE_URL: database },
  })
  try {
    const [yardstickUrl] = await once(yardstick, 'message')
    const oneApp = await profileUpdates(stack, 1)
    const targets = {
      bare: { ...oneApp, url: String(yardstickUrl) },
      oneApp,
      manyApps: await profileUpdates(stack, clients),
    }
    const results = { bare: [] as LoadResult[], oneApp: [] as LoadResult[], manyApps: [] as LoadResult[] }
    const names = ['bare', 'oneApp', 'manyApps'] as const
    for (let wave = 0; wave <= waves; wave++) {
      for (const name of names) {
        const result = await load(targets[name], clients, waveMs)
        if (wave > 0) results[name].push(result) // the first wave warms up
      }
    }
    print('bare Fastify, one INSERT', results.bare)
    const isReached = [
      print('one app', results.oneApp, results.bare),
      print(`${clients} apps`, results.manyApps, results.bare),
    ]
    return !isReached.includes(false)
  } finally {
    yardstick.disconnect()
    await stack.stop()
  }
}

/** Returns updates that alternate between the users of `appCount` apps. */
async function profileUpdates({ db, api }: RunningStack, appCount: number): Promise<LoadTarget> {
  const userId = (number: number) => `user-${number % (users / appCount)}`
  const userIds = Array.from({ length: users / appCount }, (_, number) => userId(number))
  const tokens: string[] = []
  for (let app = 0; app < appCount; app++) {
    const { appId, apiToken } = await createApp(db, { name: `Bench ${app}`, email: 'bench@example.com' })
    await registerUsers(db, appId, userIds)
    tokens.push(apiToken)
  }
  let count = 0
  const next = () => {
    count++
    const body = JSON.stringify({
      user_id: userId(count * 7919),
      user_profiles: [
        { key: 'name', type: 'string', value: `Name ${count}` },
        { key: 'visits', type: 'int', value: count },
        { key: 'seen', type: 'datetime', value: '2026-01-01T10:00:00+09:00' },
      ],
    })
    return { headers: { 'X-Service-Token': tokens[count % appCount] ?? '' }, body }
  }
  return { url: `${api}/v2/user_profiles`, next, expected: 202 }
}

/**
 * Prints the results of some waves, and their ratio to the results of the bare route. Returns whether the target is
 * reached.
 */
function print(name: string, results: readonly LoadResult[], yardstick?: readonly LoadResult[]): boolean {
  const median = (all: readonly LoadResult[], figure: keyof LoadResult) =>
    quantile(
      all.map((result) => result[figure]),
      0.5,
    )
  const ratio = yardstick && median(results, 'perSecond') / median(yardstick, 'perSecond')
  const errors = results.reduce((sum, result) => sum + result.errors, 0)
  const figures = [
    name.padEnd(26),
    `${median(results, 'perSecond').toFixed(0).padStart(6)}/s`,
    `median ${median(results, 'median').toFixed(0)} ms`,
    `p99 ${median(results, 'p99').toFixed(0)} ms`,
    `errors ${errors}`,
    ...(ratio === undefined ? [] : [`ratio ${ratio.toFixed(2)} (target ${target})`]),
  ]
  console.log(figures.join('  '))
  return errors === 0 && (ratio === undefined || ratio >= target)
}
