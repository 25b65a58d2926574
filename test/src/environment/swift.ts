import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { freePort } from './free-port.ts'
import { endChild, killAtExit } from './program.ts'
import type { StorageServer } from './storage-server.ts'
import { until } from './wait.ts'

/** The servers behind the proxy, which keep accounts, containers (buckets) and objects. */
const keepers = ['account', 'container', 'object'] as const

/**
 * Starts OpenStack Swift with its S3 middleware: four processes that keep one copy of each object in `folder`. The
 * programs come from Debian's packages `swift-proxy`, `swift-account`, `swift-container` and `swift-object`.
 *
 * `user` is the only user, whose access key has the form `account:user`. Throws if a process does not start.
 */
export async function startSwift(
  folder: string,
  user: { accessKeyId: string; secretAccessKey: string },
): Promise<StorageServer> {
  await mkdir(join(folder, 'disks', 'd1'), { recursive: true })
  await writeFile(
    join(folder, 'swift.conf'),
    '[swift-hash]\nswift_hash_path_suffix = test\nswift_hash_path_prefix = test\n[storage-policy:0]\nname = default\ndefault = yes\n',
  )
  const processes: ChildProcess[] = []
  const stop = async () => {
    for (const child of processes) await endChild(child)
  }
  try {
    processes.push(...(await Promise.all(keepers.map((name) => startKeeper(folder, name)))))
    const port = await freePort()
    await writeFile(join(folder, 'proxy.conf'), proxyConfiguration(folder, port, user))
    processes.push(await run('proxy', folder, port))
    return { url: `http://127.0.0.1:${port}`, stop }
  } catch (error) {
    await stop()
    throw error
  }
}

/** Starts a server that keeps data. Creates the ring, the file by which Swift's proxy finds this server. */
async function startKeeper(folder: string, name: (typeof keepers)[number]): Promise<ChildProcess> {
  const port = await freePort()
  const builder = join(folder, `${name}.builder`)
  for (const step of [['create', '4', '1', '0'], ['add', `r1z1-127.0.0.1:${port}/d1`, '1'], ['rebalance']]) {
    const [command = '', ...args] = step
    await promisify(execFile)('swift-ring-builder', [builder, command, ...args])
  }
  await writeFile(
    join(folder, `${name}.conf`),
    [
      ...['[DEFAULT]', ...commonSettings(folder, port), `devices = ${join(folder, 'disks')}`, 'mount_check = false'],
      ...['[pipeline:main]', `pipeline = ${name}-server`, `[app:${name}-server]`, `use = egg:swift#${name}`, ''],
    ].join('\n'),
  )
  return await run(name, folder, port)
}

function commonSettings(folder: string, port: number): string[] {
  return [
    `swift_dir = ${folder}`,
    'bind_ip = 127.0.0.1',
    `bind_port = ${port}`,
    // The server handles requests in a single process, as the user who runs the tests.
    'workers = 0',
    `user = ${process.env.USER ?? 'root'}`,
    'log_level = CRITICAL',
  ]
}

/** Filters that Swift provides under another name. */
const eggs: Record<string, string> = { cache: 'memcache' }

function proxyConfiguration(folder: string, port: number, user: { accessKeyId: string; secretAccessKey: string }) {
  const filters = ['catch_errors', 'gatekeeper', 'listing_formats', 'cache', 's3api', 'tempauth', 'copy', 'slo', 'dlo']
  const [account = '', name = ''] = user.accessKeyId.split(':')
  const settings: Record<string, string[]> = {
    // The pipeline needs this filter, but the filter needs no running memcached.
    cache: ['memcache_servers = 127.0.0.1:1'],
    s3api: ['location = us-east-1'],
    tempauth: [`user_${account}_${name} = ${user.secretAccessKey} .admin`],
  }
  return [
    ...['[DEFAULT]', ...commonSettings(folder, port)],
    ...['[pipeline:main]', `pipeline = ${filters.join(' ')} proxy-server`],
    ...['[app:proxy-server]', 'use = egg:swift#proxy', 'account_autocreate = true'],
    ...filters.flatMap((filter) => [
      `[filter:${filter}]`,
      `use = egg:swift#${eggs[filter] ?? filter}`,
      ...(settings[filter] ?? []),
    ]),
    '',
  ].join('\n')
}

async function run(name: string, folder: string, port: number): Promise<ChildProcess> {
  const child = spawn(`swift-${name}-server`, [join(folder, `${name}.conf`)], { stdio: 'ignore' })
  killAtExit(child)
  await once(child, 'spawn')
  await until(`swift-${name}-server`, async () => {
    if (child.exitCode !== null) throw new Error(`swift-${name}-server ended with code ${child.exitCode}`)
    return await fetch(`http://127.0.0.1:${port}`).then(
      () => true,
      () => false,
    )
  })
  return child
}
