import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { mkdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { runProgram } from '../environment/program.ts'

/** The root of the repository, which is the context of the image. */
export const repository = fileURLToPath(new URL('../../..', import.meta.url))

/** Buildah and podman with images and containers of their own, apart from others on the machine. */
export interface Engine extends AsyncDisposable {
  /** Runs Buildah, and prints its output. Throws if it fails. */
  buildah(args: readonly string[]): Promise<void>
  /** Runs podman. Returns the exit code, and what it printed. */
  podman(args: readonly string[]): Promise<{ code: number; output: string }>
  /** Runs podman. Returns what it printed, without white space at the end. Throws if it fails. */
  run(args: readonly string[]): Promise<string>
}

/** Opens the engine with the images in a folder. By default, they stay in a cache between runs. */
export async function openEngine(folder = join(repository, 'node_modules/.cache/containers')): Promise<Engine> {
  await mkdir(folder, { recursive: true })
  // Podman accepts at most 50 characters for the folder of what runs, and the same folder each time for these images.
  const running = `/run/sluice-${createHash('sha256').update(folder).digest('hex').slice(0, 12)}`
  const store = ['--root', join(folder, 'store'), '--runroot', running]
  const podman = (args: readonly string[]) =>
    runProgram('podman', [...store, '--cgroup-manager', 'cgroupfs', '--runtime', 'runc', ...args])
  return {
    podman,
    async buildah(args) {
      const child = spawn('buildah', [...store, ...args], { stdio: ['ignore', 'inherit', 'inherit'] })
      const [code] = await once(child, 'exit')
      if (code !== 0) throw new Error(`buildah ${args.join(' ')} ended with exit code ${code}`)
    },
    async run(args) {
      const { code, output } = await podman(args)
      if (code !== 0) throw new Error(`podman ${args.join(' ')}: ${output}`)
      return output.trim()
    },
    [Symbol.asyncDispose]: () => rm(running, { recursive: true, force: true }),
  }
}

/**
 * Builds the image of a Dockerfile from the files of `context`. All files get the same time, so a build from the same
 * files makes the same image. Prints the steps.
 */
export async function buildImage(engine: Engine, context: string, options: readonly string[]): Promise<void> {
  const place = ['--isolation', 'chroot', '--network', 'host']
  await engine.buildah(['bud', ...place, '--layers', '--format', 'oci', '--timestamp', '0', ...options, context])
}

/** Whether this machine can build and run containers. Otherwise prints what is missing. */
export async function canRunContainers(): Promise<boolean> {
  const missing: string[] = []
  for (const tool of ['buildah', 'podman', 'runc', 'debootstrap']) {
    const found = await runProgram(tool, ['--version']).catch(() => undefined)
    if (found === undefined) missing.push(tool)
  }
  const isRoot = process.getuid?.() === 0
  if (missing.length > 0) console.log(`skipped: there is no ${missing.join(', no ')} on the path`)
  else if (!isRoot) console.log('skipped: containers with networks need root')
  return missing.length === 0 && isRoot
}
