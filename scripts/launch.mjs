// Every npm script starts here, on any version of Node: installs the dependencies if they do not match the lockfile,
// then runs the given entry point on the Node 24 from the dependencies. node scripts/launch.mjs <entry.ts> [arguments…]
import { spawn, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { isInstalled } from './installed.mjs'

const root = fileURLToPath(new URL('..', import.meta.url))
const nodeModules = join(root, 'node_modules')
const node24 = join(nodeModules, '.bin', 'node')

// Keeps compiled code for the next start, which roughly halves the start-up time.
process.env.NODE_COMPILE_CACHE ??= join(nodeModules, '.cache', 'node-compile')

const [entry, ...args] = process.argv.slice(2)
if (entry === undefined) {
  console.error('usage: node scripts/launch.mjs <entry.ts> [arguments…]')
  process.exit(2)
}

installIfNeeded()
if (Number(process.versions.node.split('.')[0]) >= 24) {
  process.argv.splice(1, 2, resolve(root, entry))
  await import(pathToFileURL(resolve(root, entry)).href)
} else {
  runOnNode24()
}

/**
 * Runs `npm ci` if node_modules does not match the lockfile. The output of npm goes to stderr, so that stdout contains
 * only the entry's output. The options override environment settings that omit packages, which would cause an
 * installation at each start.
 */
function installIfNeeded() {
  if (isInstalled(root)) return
  console.error('Installing dependencies (npm ci) …')
  const npm = spawnSync('npm', ['ci', '--include=dev', '--include=optional', '--loglevel=error'], {
    cwd: root,
    stdio: ['ignore', 2, 2],
  })
  if (npm.status !== 0) {
    console.error('npm ci failed: see above')
    process.exit(1)
  }
}

/** Runs the entry on the bundled Node (design.md §1, Technology): same arguments, streams, signals and exit code. */
function runOnNode24() {
  if (!existsSync(node24)) {
    console.error(
      `Node 24 or later is needed; this is ${process.version}, and npm brings no build of it for this platform`,
    )
    process.exit(1)
  }
  const child = spawn(node24, [resolve(root, entry), ...args], {
    stdio: 'inherit',
    env: { ...process.env, PATH: `${join(nodeModules, '.bin')}:${process.env.PATH}` },
  })
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal))
  // A terminal sends Ctrl-C to the child as well. Any other SIGINT reaches only this process, which forwards it.
  process.on('SIGINT', () => process.stdin.isTTY || child.kill('SIGINT'))
  child.on('exit', (code, signal) => {
    if (signal === null) process.exit(code ?? 1)
    process.removeAllListeners(signal)
    process.kill(process.pid, signal)
  })
}
