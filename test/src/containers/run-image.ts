import assert from 'node:assert/strict'
import { readComposeFile } from './compose-file.ts'
import { limits, runServices, type Services } from './containers.ts'
import type { Engine } from './engine.ts'
import { type Servers, startServers } from './servers.ts'

/** The service in containers, and what it uses on this machine. */
export interface RunningImage {
  services: Services
  servers: Servers
  /** The address of the servers on the containers' network, which this machine has as well. */
  host: string
}

/**
 * Runs the services of infra/compose.yaml that use our image, from `image`, with the options and settings of the file.
 * Postgres, Redis, storage and the mail server run beside the containers. Then calls `use`, and stops the containers,
 * which must end by themselves. `settings` returns settings that replace those of the file.
 */
export async function runImage(
  engine: Engine,
  image: string,
  use: (running: RunningImage) => Promise<void>,
  settings: (host: string) => Record<string, string> = () => ({}),
): Promise<void> {
  const { ours, otherImages } = readComposeFile()
  const worker = ours.find(({ name }) => name === 'worker')
  assert(worker)
  const { environment } = worker
  const network = `sluice-${process.pid}`
  await engine.run(['network', 'create', network])
  // The network's address exists on this machine once a container is in it.
  const first = ['--detach', '--name', `${network}-first`, '--network', network, ...limits, '--entrypoint', 'node']
  await engine.run(['run', ...first, image, '-e', 'setInterval(() => {}, 60_000)'])
  try {
    const host = await engine.run(['network', 'inspect', '--format', '{{(index .Subnets 0).Gateway}}', network])
    await using servers = await startServers(host, {
      databaseUrl: environment.DATABASE_URL ?? '',
      accessKeyId: environment.S3_ACCESS_KEY_ID ?? '',
      secretAccessKey: environment.S3_SECRET_ACCESS_KEY ?? '',
      bucket: environment.S3_BUCKET ?? '',
    })
    const others = Object.entries(settings(host)).map(([name, value]) => `--env=${name}=${value}`)
    const services = ours.map((each) => ({ ...each, options: [...each.options, ...others] }))
    await using running = await runServices(engine, services, { image, network, names: servers.names })
    await use({ services: running, servers, host })
    await running.stop()
  } finally {
    await engine.podman(['rm', '--force', '--time', '0', `${network}-first`])
    await engine.podman(['network', 'rm', '--force', network])
  }
  for (const other of otherImages) console.log(`not run: ${other}`)
}
