import { chmod, copyFile, cp, readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { runProgram } from '../environment/program.ts'
import { openScratch } from '../environment/scratch.ts'
import { buildImage, type Engine, repository } from './engine.ts'

export type Origin = 'fetched' | 'made by debootstrap'

/**
 * Makes sure that the base image of infra/Dockerfile is in the engine's store. If it cannot be fetched, makes a
 * substitute under its name: Debian by debootstrap, the Node of this process, npm, and the user `node`.
 */
export async function provideBaseImage(engine: Engine): Promise<{ image: string; origin: Origin }> {
  const dockerfile = await readFile(join(repository, 'infra', 'Dockerfile'), 'utf8')
  const [, name = '', release = ''] = /^FROM (node:[\d.]+-(\w+)-slim)$/m.exec(dockerfile) ?? []
  if (name === '') throw new Error('infra/Dockerfile names no base image such as node:24.0.0-bookworm-slim')
  const image = `docker.io/library/${name}`
  const known = await engine.podman(['image', 'inspect', '--format', '{{.Labels.substitute}}', image])
  if (known.code === 0)
    return { image, origin: known.output.includes('debootstrap') ? 'made by debootstrap' : 'fetched' }
  if ((await engine.podman(['pull', '--quiet', image])).code === 0) return { image, origin: 'fetched' }
  await makeSubstitute(engine, image, release)
  return { image, origin: 'made by debootstrap' }
}

async function makeSubstitute(engine: Engine, image: string, release: string): Promise<void> {
  await using scratch = await openScratch('sluice-base-')
  const { path: folder } = scratch
  const root = join(folder, 'root')
  console.log(`${image} cannot be fetched: debootstrap makes a substitute`)
  await must('debootstrap', ['--variant=minbase', release, root])
  await copyFile(process.execPath, join(root, 'usr/local/bin/node'))
  await chmod(join(root, 'usr/local/bin/node'), 0o755)
  await copyNpm(root)
  await must('chroot', [root, 'groupadd', '--gid', '1000', 'node'])
  await must('chroot', [root, 'useradd', '--uid', '1000', '--gid', 'node', '--create-home', 'node'])
  const authorities = await copyAuthorities(root)
  const lines = ['FROM scratch', 'COPY root /', 'LABEL substitute=debootstrap', ...authorities, 'CMD ["node"]']
  await writeFile(join(folder, 'Dockerfile'), `${lines.join('\n')}\n`)
  await buildImage(engine, folder, ['--tag', image])
}

/** Copies this machine's npm, which the real image has at the same place. */
async function copyNpm(root: string): Promise<void> {
  const { output } = await must('sh', ['-c', 'command -v npm'])
  const npm = dirname(dirname(await realpath(output.trim())))
  await cp(npm, join(root, 'usr/local/lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(root, 'usr/local/bin/npm'))
}

/** Copies the certificate authorities that npm needs on this machine. Returns the instructions that name them. */
async function copyAuthorities(root: string): Promise<string[]> {
  const { NODE_EXTRA_CA_CERTS: from } = process.env
  if (from === undefined) return []
  await copyFile(from, join(root, 'etc/authorities.pem'))
  return ['ENV NODE_EXTRA_CA_CERTS=/etc/authorities.pem']
}

async function must(program: string, args: readonly string[]) {
  const result = await runProgram(program, args)
  if (result.code !== 0) throw new Error(`${program} ${args.join(' ')}: ${result.output.slice(-2000)}`)
  return result
}
