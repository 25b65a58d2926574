import { type ChildProcess, fork, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
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
const nobody = { kind: 'user', uid: 65_534, gid: 65_534 } as const

let home: string
/** The data directory that the tests share, because creating one takes over a second. Every test stops its server. */
let dataDirectory: string
const running: RunningPostgres[] = []

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'sluice-postgres-'))
  dataDirectory = join(home, 'shared', 'data')
  const first = await startPostgres({ dataDirectory, port: 0, settings: { fsync: 'off' } })
  await query(first.url, 'create table marks (mark text)')
  await first.stop()
})

afterEach(async () => {
  for (const server of running.splice(0)) await server.stop()
})

afterAll(() => rm(home, { recursive: true, force: true }))

describe('startPostgres', () => {
  test('keeps the data and the password over a restart, and leaves no server behind', async () => {
    const first = await start({ dataDirectory })
    await query(first.url, `insert into marks values ('kept')`)
    const pid = await postmaster(dataDirectory)
    await first.stop()
    expect(await isRunning(pid)).toBe(false)

    const second = await start({ dataDirectory, port: first.port })
    expect(second.url).toBe(first.url)
    expect(await query(second.url, `select mark from marks where mark = 'kept'`)).toHaveLength(1)
  })

  test('listens on 127.0.0.1 only and refuses a wrong password', async () => {
    const { url } = await start({ dataDirectory })
    expect(await query(url, 'show listen_addresses')).toEqual([{ listen_addresses: '127.0.0.1' }])
    await expect(query(url.replace(/:[^:@]+@/, ':wrong@'), 'select 1')).rejects.toThrow('authentication failed')
  })

  test('keeps password, log and data from other users', async () => {
    await start({ dataDirectory })
    for (const path of [`${dataDirectory}.password`, `${dataDirectory}.log`, dataDirectory]) {
      expect((await stat(path)).mode & 0o077, path).toBe(0)
    }
  })

  test('applies server settings', async () => {
    const { url } = await start({ dataDirectory, settings: { work_mem: '7MB' } })
    expect(await query(url, 'show work_mem')).toEqual([{ work_mem: '7MB' }])
    expect(await query(url, 'show max_connections')).toEqual([{ max_connections: '300' }])
  })

  test('starts after a start that was interrupted while it created the data directory', async () => {
    const folder = await emptyFolder()
    await mkdir(join(folder, 'data.init-abc', 'data', 'base'), { recursive: true })
    const { url } = await start({ dataDirectory: join(folder, 'data'), settings: { fsync: 'off' } })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect((await readdir(folder)).sort()).toEqual(['data', 'data.log', 'data.password'])
  })

  test('rejects with the last lines of the log if the server does not start', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await once(taken, 'listening')
    onTestFinished(() => void taken.close())
    const address = taken.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await expect(start({ dataDirectory, port })).rejects.toThrow(/could not bind.*in use/)
  })

  test('rejects with instructions if the password file is missing', async () => {
    const dataDirectory = await ownCopy()
    await rm(`${dataDirectory}.password`)
    await expect(start({ dataDirectory })).rejects.toThrow('data.password is missing')
  })
})

describe('after a crash', () => {
  test('recovers when the server was killed', async () => {
    const first = await start({ dataDirectory })
    await query(first.url, `insert into marks values ('committed')`)
    process.kill(await postmaster(dataDirectory), 'SIGKILL')
    const second = await start({ dataDirectory })
    expect(await query(second.url, `select mark from marks where mark = 'committed'`)).toHaveLength(1)
  })

  test('starts although another program has the process ID of the killed server', async () => {
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

  test('first shuts down a server that still runs on the directory', async () => {
    const leftover = await start({ dataDirectory })
    const next = await start({ dataDirectory })
    await leftover.exited
    expect(await query(next.url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  const self: Launcher['as'] = isRoot ? { kind: 'namespace' } : { kind: 'self' }
  const launchers: Launcher[] = [
    { as: self, parentDeath: 'pipe' },
    ...(onLinux ? [{ as: self, parentDeath: 'signal' } as const] : []),
    ...(onLinux && isRoot ? [{ as: nobody, parentDeath: 'signal' } as const] : []),
  ]
  test.each(launchers)('the server ends if its parent is killed: $as.kind, by $parentDeath', async (launcher) => {
    const directory = launcher.as.kind === 'user' ? await ownCopy() : dataDirectory
    const { child, url } = await startInChild({ dataDirectory: directory, port: 0, launcher })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
    const pid = await postmaster(directory)
    child.kill('SIGKILL')
    await expect.poll(() => isRunning(pid)).toBe(false)
    expect(await readPostmasterFile(directory), 'a clean shutdown removes it').toBeUndefined()
  })
})

describe.runIf(onLinux && isRoot)('under root', () => {
  test('runs as another user in a directory that only root can enter, and keeps that user', async () => {
    const copy = await ownCopy()
    await chmod(dirname(copy), 0o700)
    const first = await start({ dataDirectory: copy, launcher: { as: nobody, parentDeath: 'signal' } })
    expect(await query(first.url, 'select 1 as one')).toEqual([{ one: 1 }])
    await first.stop()

    const second = await start({ dataDirectory: copy })
    expect(await query(second.url, 'select 1 as one')).toEqual([{ one: 1 }])
    expect((await stat(join(copy, 'PG_VERSION'))).uid).toBe(nobody.uid)
  })

  test("creates a data directory in another user's private directory", async () => {
    const folder = await emptyFolder()
    await chown(folder, 1000, 1000)
    const { url } = await start({ dataDirectory: join(folder, 'data'), settings: { fsync: 'off' } })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
  })

  const nobodyCanRead = spawnSync('test', ['-r', fixture], { uid: nobody.uid, gid: nobody.gid }).status === 0
  test.runIf(nobodyCanRead)('can be started by an ordinary user', async () => {
    const folder = await emptyFolder()
    await chmod(home, 0o755)
    await chown(folder, nobody.uid, nobody.gid)
    const options = { dataDirectory: join(folder, 'data'), port: 0, settings: { fsync: 'off' } }
    const { child, url } = await startInChild(options, { uid: nobody.uid, gid: nobody.gid })
    expect(await query(url, 'select 1 as one')).toEqual([{ one: 1 }])
    const pid = await postmaster(options.dataDirectory)
    child.kill('SIGKILL')
    await expect.poll(() => isRunning(pid)).toBe(false)
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

/** Copies the shared data directory, for a test that changes more than its rows. Returns the path of the copy. */
async function ownCopy(): Promise<string> {
  const copy = join(await emptyFolder(), 'data')
  await cp(dataDirectory, copy, { recursive: true })
  await cp(`${dataDirectory}.password`, `${copy}.password`)
  return copy
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
  // If the server ends during a connection, the query rejects by itself.
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(sql)).rows
  } finally {
    await client.end()
  }
}
