import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { access, chown, mkdir, mkdtemp, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { readIfExists, writeWhole } from '../whole-file.ts'
import type { PostgresBinaries } from './binaries.ts'
import { commandFor, type Launcher } from './launcher.ts'

/** The name of the database, and of the role that owns it. */
export const databaseName = 'sluice'

/** The environment of Postgres: messages, time zone and settings must not depend on the machine or on PG* variables. */
export const postgresEnvironment = { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' }

/**
 * Creates the data directory with the database and its role, if it does not exist yet. Returns the role's password.
 *
 * The password is kept in `<data directory>.password`, readable by its owner only. The directory is created under
 * another name and renamed when it is complete, so that an incomplete directory is never used after a crash. If
 * `durable` is set, the directory also survives a power failure. Throws with the output of initdb if it fails.
 */
export async function ensureCluster(
  binaries: PostgresBinaries,
  launcher: Launcher,
  dataDirectory: string,
  durable: boolean,
): Promise<string> {
  const passwordFile = `${dataDirectory}.password`
  const password = await readIfExists(passwordFile)
  if (await exists(join(dataDirectory, 'PG_VERSION'))) {
    if (password === undefined) {
      throw new Error(`${passwordFile} is missing: put it back, or remove ${dataDirectory} to start with no data`)
    }
    await changeOwner(launcher, dataDirectory)
    return password
  }
  const chosen = password ?? randomBytes(24).toString('base64url')
  if (password === undefined) await writeWhole(passwordFile, chosen)
  await createCluster(binaries, launcher, { dataDirectory, password: chosen, durable })
  return chosen
}

interface NewCluster {
  dataDirectory: string
  password: string
  durable: boolean
}

async function createCluster(
  binaries: PostgresBinaries,
  launcher: Launcher,
  { dataDirectory, password, durable }: NewCluster,
): Promise<void> {
  const parent = dirname(dataDirectory)
  const prefix = `${basename(dataDirectory)}.init-`
  for (const entry of await readdir(parent)) {
    if (entry.startsWith(prefix)) await rm(join(parent, entry), { recursive: true, force: true })
  }
  const directory = await mkdtemp(join(parent, prefix))
  try {
    const cluster = join(directory, 'data')
    const passwordFile = join(directory, 'password')
    await mkdir(cluster, { mode: 0o700 })
    await writeFile(passwordFile, password, { mode: 0o600 })
    await changeOwner(launcher, directory)
    await run(launcher, [
      binaries.initdb,
      `--pgdata=${cluster}`,
      `--username=${databaseName}`,
      `--pwfile=${passwordFile}`,
      '--auth=scram-sha-256',
      '--encoding=UTF8',
      ...(durable ? [] : ['--no-sync']),
      // Postgres's own collation: the same order on every machine, whatever its C library.
      ...['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
    ])
    await run(
      launcher,
      [binaries.postgres, '--single', '-D', cluster, 'postgres'],
      `create database ${databaseName};\n`,
    )
    await rename(cluster, dataDirectory)
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Changes the owner of a directory to the user that Postgres runs as, unless that is the user of this process. */
async function changeOwner(launcher: Launcher, directory: string): Promise<void> {
  if (launcher.as.kind !== 'user') return
  const { uid, gid } = launcher.as
  if ((await stat(directory)).uid === uid) return
  for (const entry of await readdir(directory, { recursive: true })) await chown(join(directory, entry), uid, gid)
  // The directory comes last. If it has the new owner already, its whole content has the new owner too.
  await chown(directory, uid, gid)
}

/** Runs a program to its end. Throws with the last lines of its output if it fails. */
async function run(launcher: Launcher, program: readonly string[], input = ''): Promise<void> {
  const child = spawn('env', commandFor(launcher, program), { env: postgresEnvironment, detached: true })
  const output = collectOutput(child)
  // A program that fails at once closes its input early; its output states the reason.
  child.stdin.on('error', () => {})
  child.stdin.end(input)
  const [code] = await once(child, 'close')
  if (code !== 0) {
    throw new Error(`${basename(program[0] ?? '')} failed:\n${output().trim().split('\n').slice(-10).join('\n')}`)
  }
}

function collectOutput(child: ChildProcess): () => string {
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  return () => Buffer.concat(chunks).toString('utf8')
}

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  )
}
