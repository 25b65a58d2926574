import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { provideBaseImage } from '../../test/src/containers/base-image.ts'
import { buildImage, openEngine } from '../../test/src/containers/engine.ts'
import { pack } from './pack.ts'
import { copySource, type Source } from './source.ts'

/** Returns the file name of the image's archive, which says for which processors the image is. */
export function imageFileOf({ version }: Source): string {
  return `sluice-image-${version}-${process.arch === 'x64' ? 'amd64' : process.arch}.oci.tar`
}

/**
 * Builds the image of infra/Dockerfile, and writes it as an OCI archive. `scratch` is a folder for files that are not
 * needed afterwards. Returns the name and the digest of the base image, and whether the image is only for tests because
 * a substitute had to take that name.
 */
export async function releaseImage(
  source: Source,
  archive: string,
  scratch: string,
): Promise<{ base: string; isForTests: boolean }> {
  await using engine = await openEngine()
  const base = await provideBaseImage(engine)
  const context = join(scratch, 'context')
  copySource('.', context)
  const image = `localhost/sluice:${source.version}`
  // Layers in the cache may be older than the packages that a registry now has.
  const digest = await engine.run(['image', 'inspect', '--format', '{{.Digest}}', base.image])
  const options = ['--no-cache', '--pull=never', '--file', join(context, 'infra/Dockerfile'), ...labelsOf(source)]
  await buildImage(engine, context, [...options, '--tag', image])
  const layout = join(scratch, 'layout')
  mkdirSync(layout)
  await engine.buildah(['push', '--quiet', image, `oci:${layout}:${image}`])
  await pack(layout, archive)
  return { base: `${base.image}@${digest}`, isForTests: base.origin === 'made by debootstrap' }
}

function labelsOf({ version, commit }: Source): string[] {
  const labels = { version, revision: commit }
  return Object.entries(labels).flatMap(([name, value]) => ['--label', `org.opencontainers.image.${name}=${value}`])
}
