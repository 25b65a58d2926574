// npm run image-commands: executes infra/Dockerfile without a container engine. It copies the image's files to a clean
// folder and runs the RUN commands there as a user who is not root. Then it starts each app with its entry point, from
// files that this user cannot write, and makes the request of the health check. Exits with code 1 on any failure.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmod, chown, cp, mkdtemp, readdir, readFile, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { endChild } from '../environment/program.ts'

const repository = fileURLToPath(new URL('../../..', import.meta.url))
const node = process.execPath
/** User ID of the image's user `node`. */
const user = process.getuid?.() === 0 ? { uid: 1000, gid: 1000 } : {}

const folder = await mkdtemp(join(tmpdir(), 'sluice-image-'))
try {
  const app = join(folder, 'app')
  await layOut(app)
  await own(folder)
  const dockerfile = await readFile(join(repository, 'infra', 'Dockerfile'), 'utf8')
  for (const [, command = ''] of dockerfile.matchAll(/^RUN (.*)$/gm)) {
    const began = performance.now()
    await run('/bin/sh', ['-c', command], app)
    console.log(`${((performance.now() - began) / 1000).toFixed(1)} s  ${command}`)
  }
  await run('/bin/sh', ['-c', 'find . -not -type l -exec chmod a-w {} +'], app)
  console.log(`${Math.round((await sizeOf(app)) / 2 ** 20)} MiB in the image in addition to Node`)
  for (const name of await readdir(join(app, 'apps'))) {
    if (['api', 'worker', 'dashboard', 's3-gateway'].includes(name)) await startsAndIsHealthy(app, name, dockerfile)
  }
  await run(node, ['apps/cli/src/main.ts', '--help'], app)
} finally {
  await run('/bin/sh', ['-c', 'chmod -R u+w app'], folder).catch(() => {})
  await rm(folder, { recursive: true, force: true })
}

/** Copies the files that .dockerignore admits: the paths it lists with `!`, except the paths it then excludes again. */
async function layOut(target: string): Promise<void> {
  const lines = (await readFile(join(repository, '.dockerignore'), 'utf8')).split('\n')
  const named = lines.filter((line) => line.startsWith('!')).map((line) => line.slice(1))
  const out = /(\.test\.ts|\.fixture\.ts|\/testing|\/node_modules)$/
  for (const path of named) {
    await cp(join(repository, path), join(target, path), { recursive: true, filter: (source) => !out.test(source) })
  }
}

async function own(root: string): Promise<void> {
  await chmod(root, 0o755)
  if (user.uid === undefined) return
  for (const path of ['', ...(await readdir(root, { recursive: true }))])
    await chown(join(root, path), user.uid, user.gid)
}

/** Starts an app without its servers, and expects that it is healthy but not ready. */
async function startsAndIsHealthy(app: string, name: string, dockerfile: string): Promise<void> {
  const away = 'http://127.0.0.1:9'
  const env = {
    DATABASE_URL: 'postgres://sluice:sluice@127.0.0.1:9/sluice',
    S3_ENDPOINT: away,
    S3_BUCKET: 'sluice',
    S3_ACCESS_KEY_ID: 'sluice',
    S3_SECRET_ACCESS_KEY: 'sluice',
    SMTP_URL: 'smtp://127.0.0.1:9',
    MAIL_FROM: 'no-reply@sluice.test',
    API_URL: away,
    API_PORT: '0',
    DASHBOARD_URL: away,
    DASHBOARD_PORT: '0',
    S3_GATEWAY_URL: away,
    S3_GATEWAY_PORT: '0',
    ENCRYPTION_KEYS: Buffer.alloc(32, 1).toString('base64'),
    METRICS_PORT: '0',
  }
  const child = spawn(node, [`apps/${name}/src/main.ts`], {
    cwd: app,
    env,
    stdio: ['ignore', 'pipe', 'inherit'],
    ...user,
  })
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const { msg, metrics } = JSON.parse(line)
      assert.notEqual(msg, 'start failed', line)
      if (msg !== 'ready') continue
      const [, check = ''] = /CMD (\["node", "-e".*\])$/m.exec(dockerfile) ?? []
      const [, ...args] = JSON.parse(check)
      await run(node, args, app, { METRICS_PORT: new URL(metrics).port })
      assert.equal((await fetch(new URL('/readyz', metrics))).status, 503)
      console.log(`${name} runs as its user, is healthy, and is not ready without its servers`)
      return
    }
    throw new Error(`${name} ended before it was ready`)
  } finally {
    await endChild(child)
  }
}

async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: Record<string, string> = {},
): Promise<void> {
  const path = `${dirname(node)}:${process.env.PATH}`
  const child = spawn(command, args, {
    cwd,
    // npm keeps the machine's network settings, but writes only into the folder.
    env: { ...process.env, PATH: path, HOME: folder, npm_config_cache: join(folder, 'npm'), ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
    ...user,
  })
  const [code] = await once(child, 'exit')
  assert.equal(code, 0, `${command} ${args.join(' ')}`)
}

async function sizeOf(root: string): Promise<number> {
  const paths = await readdir(root, { recursive: true, withFileTypes: true })
  const sizes = await Promise.all(
    paths.filter((path) => path.isFile()).map(async (path) => (await stat(join(path.parentPath, path.name))).size),
  )
  return sizes.reduce((sum, size) => sum + size, 0)
}
