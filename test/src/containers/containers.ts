import assert from 'node:assert/strict'
import { until } from '../environment/wait.ts'
import type { ComposeService } from './compose-file.ts'
import type { Engine } from './engine.ts'

export interface Services extends AsyncDisposable {
  /** Returns the address of the first container of a service on the containers' network. */
  addressOf(service: string): string
  /** Runs a command of `sluice` in the container of a service. Returns its JSON document. */
  sluice(service: string, args: readonly string[]): Promise<Record<string, unknown>>
  /** Stops all containers by SIGTERM. Throws if one of them does not end by itself with exit code 0. */
  stop(): Promise<void>
}

interface Placement {
  image: string
  network: string
  /** Options of `podman run` that make the names of the servers known in the container. */
  names: readonly string[]
}

/**
 * Options that set low limits for containers. An engine without the privilege to raise limits cannot set its usual
 * limits.
 */
export const limits = ['--ulimit=nofile=1024:1024', '--ulimit=nproc=4096:4096']

/** What a container must not be able to do: write files of the image, or run as root. */
const probe = `
  const isWritable = (path) => { try { require('fs').writeFileSync(path, ''); return true } catch { return false } }
  console.log(JSON.stringify({ user: process.getuid(), app: isWritable('/app/x'), root: isWritable('/x'), tmp: isWritable('/tmp/x') }))
`

/**
 * Runs the migration to its end, then all other services, and waits until each container is healthy. Each container
 * must run as the user of the image, with files that it cannot change.
 */
export async function runServices(
  engine: Engine,
  services: readonly ComposeService[],
  { image, network, names }: Placement,
): Promise<Services> {
  const running = new Map<string, string>()
  const place = (container: string, { options }: ComposeService) =>
    [`--name=${container}`, `--network=${network}`, ...names, ...limits, ...options, image] as const
  const removeAll = async () => {
    for (const container of running.keys()) await engine.podman(['rm', '--force', '--time', '0', container])
  }
  try {
    const [migrate, ...others] = services.toSorted((a) => (a.name === 'migrate' ? -1 : 1))
    assert(migrate?.name === 'migrate')
    await engine.run(['run', '--rm', ...place(`${network}-migrate`, migrate), ...migrate.command])
    console.log('migrate ended with exit code 0')
    for (const service of others) {
      for (let number = 1; number <= service.replicas; number++) {
        const container = `${network}-${service.name}-${number}`
        running.set(container, service.name)
        await engine.run(['run', '--detach', ...place(container, service), ...service.command])
      }
    }
    for (const container of running.keys()) await expectHealthy(engine, container)
  } catch (error) {
    for (const container of running.keys())
      console.error((await engine.podman(['logs', container])).output.slice(-3000))
    await removeAll()
    throw error
  }
  const addresses = new Map<string, string>()
  for (const [container, service] of running) {
    const format = `{{(index .NetworkSettings.Networks "${network}").IPAddress}}`
    if (!addresses.has(service)) addresses.set(service, await engine.run(['inspect', '--format', format, container]))
  }
  return {
    addressOf: (service) => addresses.get(service) ?? assert.fail(`there is no container of ${service}`),
    async sluice(service, args) {
      const container = [...running].find(([, name]) => name === service)?.[0] ?? assert.fail(service)
      return JSON.parse(await engine.run(['exec', container, 'node', 'apps/cli/src/main.ts', ...args, '--json']))
    },
    async stop() {
      for (const container of running.keys()) {
        const status = await engine.run(['exec', container, 'cat', '/proc/1/status'])
        const [, peakKb = ''] = /^VmHWM:\s+(\d+) kB$/m.exec(status) ?? []
        console.log(`${shortName(container)} took ${Math.round(Number(peakKb) / 1024)} MiB at most`)
        await engine.run(['stop', '--time', '30', container])
        assert.equal(await engine.run(['inspect', '--format', '{{.State.ExitCode}}', container]), '0', container)
      }
      console.log('all containers ended by themselves after SIGTERM')
    },
    [Symbol.asyncDispose]: removeAll,
  }
}

/** Waits until the health check of the image succeeds in a container, and checks what the container may do. */
async function expectHealthy(engine: Engine, container: string): Promise<void> {
  await until(
    `${container} to be healthy`,
    async () => (await engine.podman(['healthcheck', 'run', container])).code === 0,
  )
  const found = JSON.parse(await engine.run(['exec', container, 'node', '-e', probe]))
  assert.deepEqual(found, { user: 1000, app: false, root: false, tmp: true }, container)
  console.log(`${shortName(container)} is healthy, as user 1000, with files that it cannot change`)
}

/** Returns the name of a container without that of the network. */
function shortName(container: string): string {
  return container.replace(/^sluice-\d+-/, '')
}
