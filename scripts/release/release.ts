import { createHash } from 'node:crypto'
import { createReadStream, readFileSync } from 'node:fs'
import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { buildClient } from '../build-client.ts'
import { buildWheel } from '../build-python-client.ts'
import { root } from '../modules.ts'
import { imageFileOf, releaseImage } from './image.ts'
import { type Part, releaseNotes } from './notes.ts'
import { pack } from './pack.ts'
import { sbomOf } from './sbom.ts'
import { copySource, type Source } from './source.ts'

const chart = 'infra/helm/sluice'

/** Writes a release to an empty folder. `hasImage` says whether the image is a part of it. Throws if a part fails. */
export async function writeRelease(source: Source, folder: string, hasImage: boolean): Promise<void> {
  const scratch = await mkdtemp(join(tmpdir(), 'sluice-release-'))
  try {
    const parts = [
      await writeClient(source, folder, scratch),
      writeWheel(folder),
      await writeChart(folder, scratch),
      await writeSbom(source, folder),
    ]
    const remarks: string[] = []
    if (hasImage) {
      const file = imageFileOf(source)
      const { base, isForTests } = await releaseImage(source, join(folder, file), scratch)
      parts.push({ file, use: `the image, for \`podman load --input ${file}\`` })
      remarks.push(
        isForTests
          ? `The image is for tests only: a substitute takes the place of ${base}.`
          : `The image is built on ${base}.`,
      )
    } else remarks.push('The image is missing.')
    const changelog = readFileSync(join(root, 'CHANGELOG.md'), 'utf8')
    await writeFile(join(folder, 'RELEASE.md'), releaseNotes(source, { parts, remarks, changelog }))
    await writeFile(join(folder, 'SHA256SUMS'), await sumsOf(folder))
  } finally {
    await rm(scratch, { recursive: true, force: true })
  }
}

async function writeClient({ version }: Source, folder: string, scratch: string): Promise<Part> {
  const file = `sluice-client-${version}.tgz`
  const built = join(scratch, 'client')
  const { bin } = await buildClient(built)
  await pack(built, join(folder, file), { prefix: 'package', executables: Object.values(bin) })
  return { file, use: `the client for Node and browsers, for \`npm install ./${file}\`` }
}

function writeWheel(folder: string): Part {
  const file = basename(buildWheel(folder))
  return { file, use: `the client for Python, for \`pip install ./${file}\`` }
}

async function writeChart(folder: string, scratch: string): Promise<Part> {
  copySource(chart, scratch)
  const { version } =
    /^version: (?<version>\S+)$/m.exec(readFileSync(join(root, chart, 'Chart.yaml'), 'utf8'))?.groups ?? {}
  if (version === undefined) throw new Error(`${chart}/Chart.yaml names no version`)
  const file = `sluice-${version}.tgz`
  await pack(join(scratch, chart), join(folder, file), { prefix: 'sluice' })
  return { file, use: `the chart, for \`helm install sluice ./${file}\`` }
}

async function writeSbom({ version }: Source, folder: string): Promise<Part> {
  const file = `sluice-sbom-${version}.cdx.json`
  await writeFile(join(folder, file), sbomOf(root))
  return { file, use: 'the npm packages in the image, for scanners (CycloneDX)' }
}

/** Returns the lines of SHA256SUMS for all files of a folder. */
async function sumsOf(folder: string): Promise<string> {
  const lines: string[] = []
  for (const file of (await readdir(folder)).toSorted()) {
    const hash = createHash('sha256')
    await pipeline(createReadStream(join(folder, file)), hash)
    lines.push(`${hash.digest('hex')}  ${file}\n`)
  }
  return lines.join('')
}
