import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { glob, mkdir, readdir, readFile, symlink } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { type Migrations, migrate, migrations, sql } from '@sluice/database'
import { migrateQueue } from '@sluice/queue'
import { expect, onTestFinished, test } from 'vitest'
import { openTestDatabase } from '../environment/database.ts'
import { startMailServer } from '../environment/mail-server.ts'
import { nodeEnvironment, runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'
import { testStorageSettings } from '../environment/storage.ts'
import { until } from '../environment/wait.ts'
import { type AppProcess, startApp } from '../faults/harness/app-process.ts'
import { ended, statusOf, upload } from '../stack/client.ts'

/**
 * The migrations of this version, and one of the version after it. It does to every table what a migration may do, so
 * that the preceding release meets columns, an index and a table that it does not know, even if this version has no
 * migration of its own.
 */
const nextMigrations: Migrations = {
  ...migrations,
  '9999-next': {
    async up(db) {
      const { rows } = await sql<{ name: string }>`
        select tablename as name from pg_tables where schemaname = 'public' and tablename not like 'kysely%'
      `.execute(db)
      if (rows.length < 20) throw new Error('too few tables')
      for (const { name } of rows) {
        await sql`alter table ${sql.table(name)} add column next integer not null default 1`.execute(db)
      }
      await sql`create table next (id integer primary key)`.execute(db)
      await sql`create index next_apps on apps (next)`.execute(db)
    },
  },
}

const userIds = Array.from({ length: 500 }, (_, user) => `user-${user}`)

test('the preceding release keeps working during and after a migration, and beside the new release', {
  timeout: 400_000,
}, async () => {
  await using previous = await openPreviousRelease()
  const { url: databaseUrl, ...database } = await openTestDatabase(10, { migrated: false })
  const mail = await startMailServer()
  const env = settings(databaseUrl, mail.port)
  const processes: AppProcess[] = []
  onTestFinished(async () => {
    for (const each of processes) each.kill('SIGKILL')
    await Promise.all(processes.map((each) => each.exited))
    await mail.close()
    await database.close()
  })
  const start = async (app: 'api' | 'worker', root?: string) => {
    const started = await startApp({ app, env, log: () => {}, ...(root !== undefined && { root }) })
    processes.push(started)
    return started
  }

  const sluice = (...args: string[]) => runCommand(previous.root, env, args)
  await sluice('migrate')
  const { api_token: token } = (await sluice('app', 'create', '--name', 'Shop', '--email', 'owner@example.com')) as {
    api_token: string
  }
  const old = [await start('api', previous.root), await start('worker', previous.root)]
  const oldApi = String(old[0]?.info.url)
  await post(oldApi, '/v1/users', token, { user_ids: userIds })

  const during = await upload(oldApi, token, file('during', 20_000))
  await until('the first rows', async () => (await statusOf(oldApi, token, during)).rows_applied > 0)
  expect(await migrate(databaseUrl, nextMigrations)).toContain('9999-next')
  await migrateQueue({ databaseUrl })
  await applied(oldApi, during, 20_000)

  await applied(oldApi, await upload(oldApi, token, file('old', 1_000)), 1_000)
  await post(oldApi, '/v2/user_profiles', token, update('old'))

  const newApi = String((await start('api')).info.url)
  await start('worker')
  const beside = await Promise.all([oldApi, newApi].map((api) => upload(api, token, file('beside', 5_000))))
  for (const each of beside) await applied(newApi, each, 5_000)
  for (const each of old) each.kill('SIGTERM')
  expect(await Promise.all(old.map((each) => each.exited))).toEqual([0, 0])
  await applied(newApi, await upload(newApi, token, file('new', 1_000)), 1_000)
  await post(newApi, '/v2/user_profiles', token, update('new'))

  async function applied(api: string, importId: string, rows: number): Promise<void> {
    expect(await ended(api, token, importId)).toMatchObject({ state: 'completed', rows_applied: rows, rows_failed: 0 })
  }
})

function settings(databaseUrl: string, smtpPort: number): Record<string, string> {
  return {
    DATABASE_URL: databaseUrl,
    ...testStorageSettings(),
    SMTP_URL: `smtp://127.0.0.1:${smtpPort}`,
    MAIL_FROM: 'Sluice <no-reply@sluice.test>',
    ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
    API_URL: 'http://api.test',
    API_PORT: '0',
    UPLOAD_CHECK_INTERVAL: '200ms',
    BATCH_ROWS: '200',
  }
}

function file(mark: string, rows: number): Buffer {
  const lines = Array.from({ length: rows }, (_, row) => `user-${row % userIds.length},${mark},${row}\n`)
  return Buffer.from(`user_id,mark,row\n${lines.join('')}`)
}

function update(mark: string) {
  return { user_id: 'user-1', user_profiles: [{ key: 'mark', type: 'string', value: mark }] }
}

async function post(api: string, path: string, token: string, body: unknown): Promise<void> {
  const headers = { 'Content-Type': 'application/json', 'X-Service-Token': token }
  const response = await fetch(api + path, { method: 'POST', headers, body: JSON.stringify(body) })
  expect([response.status, await response.text()]).toEqual([202, expect.anything()])
}

/** Runs a `sluice` command of a release. Returns its JSON. */
async function runCommand(root: string, env: Record<string, string>, args: readonly string[]): Promise<unknown> {
  const child = spawn(process.execPath, [join(root, 'apps', 'cli', 'src', 'main.ts'), ...args, '--json'], {
    env: { ...nodeEnvironment, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [[code], output] = await Promise.all([once(child, 'close'), text(child.stdout)])
  expect(code).toBe(0)
  return JSON.parse(output)
}

const repository = fileURLToPath(new URL('../../..', import.meta.url))

interface PreviousRelease extends AsyncDisposable {
  name: string
  root: string
}

/**
 * Extracts the preceding release into a temporary folder. The preceding release is the newest tag `v…` before this
 * commit. In a clone without tags, it is the commit that the file `previous-release` names. `HEAD` in that file means
 * that nothing was released yet: the last commit that changed the schema then stands for the preceding release.
 *
 * The release uses its own workspace packages, and the npm packages that are installed here. Throws if the commit is
 * not in the repository.
 */
async function openPreviousRelease(): Promise<PreviousRelease> {
  const named = (await newestTag()) ?? (await readFile(new URL('previous-release', import.meta.url), 'utf8')).trim()
  const name = named === 'HEAD' ? await lastChangeOfSchema() : named
  if (named === 'HEAD') console.warn(`Nothing was released yet: ${name} stands for the preceding release.`)
  await using parts = new AsyncDisposableStack()
  const { path: root } = parts.use(await openScratch('sluice-previous-'))
  const archive = join(root, 'release.tar')
  await git('archive', '--format=tar', `--output=${archive}`, name)
  await run('tar', ['-xf', archive, '-C', root])
  await linkPackages(root)
  const kept = parts.move()
  return { name, root, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

/** Returns the last commit that changed the migrations: the oldest code that works on the schema of this version. */
async function lastChangeOfSchema(): Promise<string> {
  return (await git('log', '-1', '--format=%H', '--', 'packages/stores/database/src/migrations')).trim()
}

/** Returns the newest tag of a release before this commit; undefined if there is none. */
async function newestTag(): Promise<string | undefined> {
  const [tags, here] = await Promise.all([
    git('tag', '--merged', 'HEAD', '--sort=-version:refname', '--list', 'v*'),
    git('tag', '--points-at', 'HEAD'),
  ])
  return tags.split('\n').find((tag) => tag !== '' && !here.split('\n').includes(tag))
}

/** Creates a `node_modules` for the release, which links its own workspace packages. */
async function linkPackages(root: string): Promise<void> {
  const [here, there] = [join(repository, 'node_modules'), join(root, 'node_modules')]
  await mkdir(join(there, '@sluice'), { recursive: true })
  for (const name of await readdir(here)) {
    if (name !== '@sluice') await symlink(join(here, name), join(there, name))
  }
  for await (const manifest of glob(['packages/*/package.json', 'packages/*/*/package.json'], { cwd: root })) {
    const { name } = JSON.parse(await readFile(join(root, manifest), 'utf8'))
    await symlink(join(root, dirname(manifest)), join(there, name))
  }
}

async function git(...args: string[]): Promise<string> {
  return await run('git', ['-C', repository, ...args])
}

async function run(program: string, args: readonly string[]): Promise<string> {
  const { code, output } = await runProgram(program, args)
  if (code !== 0) throw new Error(`${program} ${args.join(' ')}: ${output}`)
  return output
}
