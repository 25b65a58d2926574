// npm run test:containers: builds infra/Dockerfile, and runs the services of infra/compose.yaml that use this image,
// with the options and settings of the file. Postgres, Redis, storage and the mail server run beside the containers. An
// import over the API, an upload to the S3 gateway, a page of the dashboard and two result mails must work. Exits with
// code 1 on any failure. Needs root and Debian's buildah, podman, runc, iptables and debootstrap. If one is missing, it
// says so and exits with 0.
import assert from 'node:assert/strict'
import { provideBaseImage } from './base-image.ts'
import { readComposeFile } from './compose-file.ts'
import { limits, runServices } from './containers.ts'
import { canRunContainers, openEngine, repository } from './engine.ts'
import { startServers } from './servers.ts'
import { useService } from './use-service.ts'

if (await canRunContainers()) await main()

async function main(): Promise<void> {
  await using engine = await openEngine()
  const base = await provideBaseImage(engine)
  // Only Docker's own format keeps HEALTHCHECK.
  await engine.build([
    '--format',
    'docker',
    '--pull=never',
    '--file',
    `${repository}/infra/Dockerfile`,
    '--tag',
    'sluice',
    repository,
  ])
  console.log(`infra/Dockerfile builds on ${base.image} (${base.origin})`)
  const { ours, otherImages } = readComposeFile()
  const worker = ours.find(({ name }) => name === 'worker')
  assert(worker)
  const { environment } = worker
  const network = `sluice-${process.pid}`
  await engine.run(['network', 'create', network])
  // The network's address exists on this machine once a container is in it.
  const first = ['--detach', '--name', `${network}-first`, '--network', network, ...limits, '--entrypoint', 'node']
  await engine.run(['run', ...first, 'localhost/sluice', '-e', 'setInterval(() => {}, 60_000)'])
  try {
    const gateway = await engine.run(['network', 'inspect', '--format', '{{(index .Subnets 0).Gateway}}', network])
    await using servers = await startServers(gateway, {
      databaseUrl: environment.DATABASE_URL ?? '',
      accessKeyId: environment.S3_ACCESS_KEY_ID ?? '',
      secretAccessKey: environment.S3_SECRET_ACCESS_KEY ?? '',
      bucket: environment.S3_BUCKET ?? '',
    })
    await using services = await runServices(engine, ours, { network, names: servers.names })
    await useService(services, { inboxUrl: servers.inbox.url, storageHost: gateway })
    await services.stop()
  } finally {
    await engine.podman(['rm', '--force', '--time', '0', `${network}-first`])
    await engine.podman(['network', 'rm', '--force', network])
  }
  for (const image of otherImages) console.log(`not run: ${image}`)
}
