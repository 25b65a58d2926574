import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { isRunning } from '../process-state.ts'
import type { Launcher } from './launcher.ts'
import { readPostmasterFile } from './postmaster-file.ts'
import { type PostgresOptions, type RunningPostgres, startPostgres } from './start.ts'

const fixture = fileURLToPath(new URL('start-in-child.fixture.ts', import.meta.url))
const isRoot = process.getuid?.() === 0
const onLinux = process.platform === 'linux'

let home: string
let template: string
const running: RunningPostgres[] = []

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-postgres-'))
  template = join(home, 'template', 'data')
  const first = await startPostgres({ dataDirectory: template, port: 0 })
  await query(first.url, 'create table marks (mark text)')
  await first.stop()
})

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop()
})

afterAll(() => rm(home, { recursive: true, force: true }))

describe('startPostgres', () => {
  test('keeps the data and the password over a restart, and leaves no server behind', async () => {
    const dataDirectory = await madeDirectory()
    const first = await start({ dataDirectory })
    await query(first.url, `insert into marks values ('kept')`)
    const pid = await postmaster(dataDirectory)
    await first.stop()
    expect(await isRunning(pid)).toBe(false)

    const second = await start({ dataDirectory, port: first.port })
    expect(second.url).toBe(first.url)
    expect(await query(second.url, 'select mark from marks')).toEqual([{ mark: 'kept' }])
  })

  test('listens on 127.0.0.1 only and refuses a wrong password', async () => {
    const { url } = await start({ dataDirectory: await madeDirectory() })
    expect(await query(url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
    await expect(query(url.replace(/:[^:@]+@/, ':wrong@'), 'select 1')).rejects.toThrow('authentication failed')
  })

  test('keeps password, log and data from other users', async () => {
    const dataDirectory = await madeDirectory()
    await start({ dataDirectory })
    for (const path of [`${dataDirectory}.password`, `${dataDirectory}.log`, dataDirectory]) {
      expect((await stat(path)).mode & 0o077, path).toBe(0)
    }
  })

  test('takes server settings', async () => {
    const { url } = await start({ dataDirectory: await madeDirectory(), settings: { work_mem: '7MB' } })
    expect(await query(url, 'show work_mem')).toEqual([{ work_mem: '7MB' }])
    expect(await query(url, 'show max_connections')).toEqual([{ max_connections: '300' }])
  })

  test('starts over where an earlier start was cut short while it made the data directory', async () => {
    const folder = await emptyFolder()
    await mkdir(join(folder, 'data.init-abc', 'data', 'base'), { recursive: true })
    const { url } = await start({ dataDirectory: join(folder, 'data') })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect((await readdir(folder)).sort()).toEqual(['data', 'data.log', 'data.password'])
  })

  test('says why it did not start, in the words of the log', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await expect(start({ dataDirectory: await madeDirectory(), port })).rejects.toThrow(/could not bind.*in use/)
  })

  test('says what to do where the password is gone', async () => {
    const dataDirectory = await madeDirectory()
    await rm(`${dataDirectory}.password`)
    await expect(start({ dataDirectory })).rejects.toThrow('data.password is missing')
  })
})

describe('after a crash', () => {
  test('recovers when the server was killed', async () => {
    const dataDirectory = await madeDirectory()
    const first = await start({ dataDirectory })
    await query(first.url, `insert into marks values ('committed')`)
    process.kill(await postmaster(dataDirectory), 'SIGKILL')
    const second = await start({ dataDirectory })
    expect(await query(second.url, 'select mark from marks')).toEqual([{ mark: 'committed' }])
  })

  test('starts although another program got the number of the killed server', async () => {
    const dataDirectory = await madeDirectory()
    const first = await start({ dataDirectory })
    process.kill(await postmaster(dataDirectory), 'SIGKILL')
    await first.exited
    const other = spawn('sleep', ['60'])
    onTestFinished(() => void other.kill())
    const path = join(dataDirectory, 'postmaster.pid')
    const lines = (await readFile(path, 'utf8')).split('\n')
    await writeFile(path, [other.pid, ...lines.slice(1)].join('\n'))

    const second = await start({ dataDirectory })
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect(other.exitCode).toBeNull()
  })

  test('shuts down a server that still runs on the directory', async () => {
    const dataDirectory = await madeDirectory()
    const left = await start({ dataDirectory })
    const next = await start({ dataDirectory })
    await left.exited
    expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  test.each(['signal', 'pipe'] as const)('the server ends with a killed parent (by %s)', async (parentDeath) => {
    if (parentDeath === 'signal' && !onLinux) return
    const dataDirectory = await madeDirectory()
    const as: Launcher['as'] = isRoot ? { kind: 'namespace' } : { kind: 'self' }
    const { child, url } = await startInChild({ dataDirectory, port: 0, launcher: { as, parentDeath } })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
    const pid = await postmaster(dataDirectory)
    child.kill('SIGKILL')
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false)
    expect(await readPostmasterFile(dataDirectory), 'a clean shutdown removes it').toBeUndefined()
  })
})

describe.runIf(onLinux && isRoot)('under root', () => {
  test('works below a directory that only root can enter, as another user where there are no namespaces', async () => {
    const folder = await emptyFolder()
    await chmod(folder, 0o700)
    await copyCluster(join(folder, 'data'))
    const launcher: Launcher = { as: { kind: 'user', uid: 65_534, gid: 65_534 }, parentDeath: 'signal' }
    const { url, stop } = await start({ dataDirectory: join(folder, 'data'), launcher })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
    await stop()

    // The directory now belongs to that user, and later starts keep to it.
    const again = await start({ dataDirectory: join(folder, 'data') })
    expect(await query(again.url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect((await stat(join(folder, 'data', 'PG_VERSION'))).uid).toBe(65_534)
  })

  test('makes a new data directory as another user', async () => {
    const folder = await emptyFolder()
    await chmod(folder, 0o700)
    const launcher: Launcher = { as: { kind: 'user', uid: 65_534, gid: 65_534 }, parentDeath: 'signal' }
    const { url } = await start({ dataDirectory: join(folder, 'data'), launcher })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  const nobodyCanRead = spawnSync('test', ['-r', fixture], { uid: 65_534, gid: 65_534 }).status === 0
  test.runIf(nobodyCanRead)('works started by a plain user', async () => {
    const folder = await emptyFolder()
    await chmod(home, 0o755)
    await chown(folder, 65_534, 65_534)
    const dataDirectory = join(folder, 'data')
    const { child, url } = await startInChild({ dataDirectory, port: 0 }, { uid: 65_534, gid: 65_534 })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
    const pid = await postmaster(dataDirectory)
    child.kill('SIGKILL')
    await expect.poll(() => isRunning(pid), { timeout: 10_000 }).toBe(false)
  })
})

async function start(options: Omit<PostgresOptions, 'port'> & { port?: number }): Promise<RunningPostgres> {
  const server = await startPostgres({ port: 0, ...options })
  running.push(server)
  return server
}

async function startInChild(
  options: PostgresOptions,
  user: { uid?: number; gid?: number } = {},
): Promise<{ child: ChildProcess; url: string }> {
  const child = fork(fixture, [JSON.stringify(options)], { ...user, execArgv: [] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const [message] = await Promise.race([
    once(child, 'message'),
    once(child, 'exit').then(() => Promise.reject(new Error('the child ended'))),
  ])
  return { child, url: message.url }
}

/** A data directory that was made before, so that a test doesn't wait for initdb. */
async function madeDirectory(): Promise<string> {
  const dataDirectory = join(await emptyFolder(), 'data')
  await copyCluster(dataDirectory)
  return dataDirectory
}

async function copyCluster(to: string): Promise<void> {
  await cp(template, to, { recursive: true })
  await cp(`${template}.password`, `${to}.password`)
}

function emptyFolder(): Promise<string> {
  return mkdtemp(join(home, 'test-'))
}

async function postmaster(dataDirectory: string): Promise<number> {
  const file = await readPostmasterFile(dataDirectory)
  if (file === undefined) throw new Error('no postmaster.pid')
  return file.pid
}

async function query(url: string, sql: string): Promise<unknown[]> {
  const client = new pg.Client(url)
  // The server may end under a connection; the query itself then rejects.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
