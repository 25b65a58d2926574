// npm run test:containers: builds infra/Dockerfile, and runs the services of infra/compose.yaml that use this image,
// with the options and settings of the file. An import over the API, an upload to the S3 gateway, a page of the
// dashboard and two result mails must work. Exits with code 1 on any failure. Needs root and Debian's buildah, podman,
// runc, iptables and debootstrap. If one is missing, it says so and exits with 0.
import { provideBaseImage } from './base-image.ts'
import { buildImage, canRunContainers, openEngine, repository } from './engine.ts'
import { runImage } from './run-image.ts'
import { useService } from './use-service.ts'

const image = 'localhost/sluice'

if (await canRunContainers()) await main()

async function main(): Promise<void> {
  await using engine = await openEngine()
  const base = await provideBaseImage(engine)
  const options = ['--pull=never', '--file', `${repository}/infra/Dockerfile`, '--tag', image]
  await buildImage(engine, repository, options)
  console.log(`infra/Dockerfile builds on ${base.image} (${base.origin})`)
  await runImage(engine, image, useService)
}
