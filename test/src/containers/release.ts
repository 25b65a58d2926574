// npm run test:release: makes a release (npm run release), and then uses only its files. All checksums must be right.
// The image runs the whole service, as in test:containers. The client is installed in an empty folder without a
// network, and imports a file with its command. If no containers can run, the client imports into the stack of
// `npm start`. With `-- --twice`, it makes a second release, which must be equal. Exits with code 1 on any failure.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'
import { openApp } from '../stack/client.ts'
import { startStack } from '../stack/running-stack.ts'
import { canRunContainers, openEngine, repository } from './engine.ts'
import { importWithClient } from './release-client.ts'
import { type RunningImage, runImage } from './run-image.ts'
import { useService } from './use-service.ts'

await main()

async function main(): Promise<void> {
  await using scratch = await openScratch('sluice-release-test-')
  const folder = join(scratch.path, 'release')
  const hasContainers = await canRunContainers()
  const options = hasContainers ? [] : ['--without-image']
  await makeRelease(folder, options)
  if (process.argv.includes('--twice')) {
    const second = join(scratch.path, 'second')
    await makeRelease(second, options)
    const sumsIn = (release: string) => readFile(join(release, 'SHA256SUMS'), 'utf8')
    assert.equal(await sumsIn(second), await sumsIn(folder), 'two releases differ')
    console.log('both releases are equal byte by byte')
  }
  const files = await readdir(folder)
  const fileOf = (pattern: RegExp) => files.find((file) => pattern.test(file))
  const client = join(folder, fileOf(/^sluice-client-.*\.tgz$/) ?? assert.fail('the release has no client'))
  const image = fileOf(/\.oci\.tar$/)
  assert.equal(image !== undefined, hasContainers, 'the release has an image if containers can be built')
  if (image === undefined) await useStack(client)
  else await useImage(join(folder, image), join(scratch.path, 'store'), client)
}

/** Makes a release with `options`, and checks its files against SHA256SUMS. */
async function makeRelease(folder: string, options: readonly string[]): Promise<void> {
  const args = ['scripts/release/main.ts', '--out', folder, '--with-changes', ...options]
  const child = spawn(process.execPath, args, { cwd: repository, stdio: 'inherit' })
  const [code] = await once(child, 'exit')
  assert.equal(code, 0, 'npm run release fails')
  const sums = await runProgram('sha256sum', ['--check', '--strict', 'SHA256SUMS'], { cwd: folder })
  assert.equal(sums.code, 0, sums.output)
  const named = sums.output.match(/: OK$/gm)?.length
  assert.equal(named, (await readdir(folder)).length - 1, 'SHA256SUMS names all other files')
  console.log(`all ${named} checksums of SHA256SUMS are right`)
}

/** Runs the service from the image's archive. The store is empty before, so the archive must be complete. */
async function useImage(archive: string, store: string, client: string): Promise<void> {
  await using engine = await openEngine(store)
  const loaded = await engine.run(['load', '--quiet', '--input', archive])
  const [image = ''] = loaded.match(/localhost\/sluice:\S+/) ?? []
  const use = async (running: RunningImage) => {
    await useService(running)
    const { services } = running
    const app = await services.sluice('api', ['app', 'create', '--name', 'Client', '--email', 'bob@example.com'])
    await importWithClient(client, `http://${services.addressOf('api')}:3000`, String(app.api_token))
  }
  // This machine reaches storage under the address that the containers use.
  await runImage(engine, image, use, (host) => ({ S3_PUBLIC_ENDPOINT: `http://${host}:9000` }))
}

async function useStack(client: string): Promise<void> {
  const stack = await startStack()
  try {
    const { token } = await openApp(stack)
    await importWithClient(client, stack.api, token)
  } finally {
    await stack.stop()
  }
}
