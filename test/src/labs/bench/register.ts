import assert from 'node:assert/strict'
import { createReadStream } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'
import { from } from 'pg-copy-streams'
import { openScratch } from '../../environment/scratch.ts'
import { type App, openApp } from '../../stack/client.ts'
import { type RunningStack, startStack } from '../../stack/running-stack.ts'
import { shuffledNumbers } from './import/file.ts'
import { type BenchPostgres, connectTo, startBenchPostgres } from './import/postgres.ts'
import { median, printRow, printTargets } from './measuring.ts'

/** The documented maximum of a request. */
const idsPerRequest = 10_000

const requestsAtOnce = 4

/** What all contenders share. */
interface Registration {
  postgres: BenchPostgres
  stack: RunningStack
  app: App
  /** The IDs, one per line, in a file and in the bodies of requests. */
  file: string
  bodies: readonly string[]
}

const contenders: Record<string, (registration: Registration) => Promise<void>> = {
  /** An expert's route, which checks no ID. The vacuum and the checkpoint follow in {@link measure}. */
  async expert({ postgres, app, file }) {
    const client = await connectTo(postgres.urlOf(database))
    await client.query('create unlogged table staging (user_id text collate "C")')
    await pipeline(createReadStream(file), client.query(from('copy staging from stdin')))
    await client.query(
      `insert into users (app_id, user_id) select ${app.appId}, user_id from staging on conflict do nothing`,
    )
    await client.query('drop table staging')
    await client.end()
  },
  async command({ stack, app, file }) {
    const { code, stderr } = await stack.pipeToSluice(
      '',
      ...['users', 'register', '--app', String(app.appId), '--file', file],
    )
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' })
  },
  async requests({ stack, app, bodies }) {
    const rest = bodies.values()
    const headers = { 'X-Service-Token': app.token, 'Content-Type': 'application/json' }
    const send = async () => {
      for (const body of rest) {
        const { status } = await fetch(`${stack.api}/v1/users`, { method: 'POST', headers, body })
        assert.equal(status, 202)
      }
    }
    await Promise.all(Array.from({ length: requestsAtOnce }, send))
  },
}

const database = 'bench_register'

/** A measurement, seconds. `settled` includes the vacuum and the checkpoint that follow. */
interface Measured {
  seconds: number
  settled: number
  cpu: number
}

/**
 * Registers users by `COPY` and `INSERT`, by `sluice users register`, and by requests of 10,000 IDs, four at once, in
 * turn: `[--users N] [--rounds N] [--shuffled]`. The expert's time includes a vacuum and a checkpoint. Returns whether
 * the targets are met.
 */
export async function benchRegister(args: readonly string[]): Promise<boolean> {
  const { values } = parseArgs({
    args: [...args],
    options: {
      users: { type: 'string', default: '1000000' },
      rounds: { type: 'string', default: '3' },
      shuffled: { type: 'boolean', default: false },
    },
  })
  const users = Number(values.users)
  await using resources = new AsyncDisposableStack()
  const { path: folder } = resources.use(await openScratch('sluice-bench-'))
  const postgres = await startBenchPostgres(folder)
  resources.defer(() => postgres.stop())
  await postgres.run('postgres', `create database ${database}`)
  const stack = await startStack({ home: join(folder, 'stack'), env: { DATABASE_URL: postgres.urlOf(database) } })
  resources.defer(() => stack.stop())
  const numbers = values.shuffled ? shuffledNumbers(users) : Array.from({ length: users }, (_, number) => number)
  const ids = Array.from(numbers, (number) => `customer-${String(number).padStart(7, '0')}`)
  const file = join(folder, 'ids.txt')
  await writeFile(file, `${ids.join('\n')}\n`)
  const bodies = Array.from({ length: Math.ceil(users / idsPerRequest) }, (_, number) =>
    JSON.stringify({ user_ids: ids.slice(number * idsPerRequest, (number + 1) * idsPerRequest) }),
  )
  const registration = { postgres, stack, app: await openApp(stack), file, bodies }
  const rounds: Record<string, Measured>[] = []
  const names = Object.keys(contenders)
  for (let number = 0; number < Number(values.rounds); number++) {
    const begin = number % names.length
    const round: Record<string, Measured> = {}
    for (const name of [...names.slice(begin), ...names.slice(0, begin)]) {
      round[name] = await measure(registration, name, users)
    }
    rounds.push(round)
  }
  return print(rounds)
}

async function measure(registration: Registration, name: string, users: number): Promise<Measured> {
  const { postgres } = registration
  await postgres.run(database, 'truncate users')
  await postgres.settle(database)
  const cpu = await postgres.cpu()
  const began = performance.now()
  await contenders[name]?.(registration)
  const ended = performance.now()
  const used = (await postgres.cpu()) - cpu
  await postgres.run(database, 'vacuum users')
  await postgres.run(database, 'checkpoint')
  const { rows } = await postgres.run(database, 'select count(*)::integer as users from users')
  assert.equal(rows[0].users, users)
  const measured = { seconds: (ended - began) / 1000, settled: (performance.now() - began) / 1000, cpu: used }
  printRow(
    name,
    [measured.seconds, measured.settled, measured.cpu].map((figure) => figure.toFixed(2)),
    [20, 12],
  )
  return measured
}

function print(rounds: readonly Record<string, Measured>[]): boolean {
  const ratio = (name: string, figure: keyof Measured, ofExpert: keyof Measured) =>
    median(rounds.map((round) => (round[name]?.[figure] ?? Number.NaN) / (round.expert?.[ofExpert] ?? Number.NaN)))
  return printTargets(
    ['command', 'requests'].flatMap((name) => [
      { name: `${name} ÷ expert with vacuum and checkpoint`, measured: ratio(name, 'seconds', 'settled'), must: 1.3 },
      { name: '  both with vacuum and checkpoint', measured: ratio(name, 'settled', 'settled') },
      { name: '  both without', measured: ratio(name, 'seconds', 'seconds') },
      { name: '  CPU of Postgres', measured: ratio(name, 'cpu', 'cpu') },
    ]),
  )
}
