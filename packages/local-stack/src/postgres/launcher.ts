import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { promisify } from 'node:util'

/**
 * How to run Postgres's programs here. Two things stand in the way of plainly spawning them:
 *
 * - Postgres refuses to run as root. Under root on Linux it runs in a user namespace in which root's own number reads
 *   as `nobody`: files stay root's, and directories that only root can enter do no harm. Where the kernel refuses
 *   namespaces (most containers), it runs as another user, with the one capability that lets it reach its files below
 *   such directories.
 * - Postgres outlives a parent that is killed. Linux sends it SIGINT (a fast shutdown) when the parent dies. Elsewhere
 *   a shell in between notices that the pipe from the parent has closed.
 */
export interface Launcher {
  as: { kind: 'self' } | { kind: 'namespace' } | { kind: 'user'; uid: number; gid: number }
  parentDeath: 'signal' | 'pipe'
}

/** `nobody`, which initdb finds in /etc/passwd everywhere. */
const NOBODY = 65_534

const NAMESPACE = ['unshare', '-U', `--map-user=${NOBODY}`, `--map-group=${NOBODY}`]

const run = promisify(execFile)

/**
 * Chooses the way to run Postgres on a data directory (which need not exist yet): whose the directory is decides,
 * so that a directory keeps the way that it was made with. Throws where root has no way to run Postgres.
 */
export async function chooseLauncher(dataDirectory: string): Promise<Launcher> {
  const signal = await works(['setpriv', '--pdeathsig', 'INT', 'true'])
  const parentDeath = signal ? 'signal' : 'pipe'
  if (process.getuid?.() !== 0) return { as: { kind: 'self' }, parentDeath }

  const owner = await stat(dataDirectory).catch(() => undefined)
  const ofRoot = owner === undefined || owner.uid === 0
  if (ofRoot && (await works([...NAMESPACE, 'true']))) return { as: { kind: 'namespace' }, parentDeath }
  const user = ofRoot
    ? ({ kind: 'user', uid: NOBODY, gid: NOBODY } as const)
    : ({ kind: 'user', uid: owner.uid, gid: owner.gid } as const)
  if (signal && (await works([...asUser(user.uid, user.gid), 'true']))) return { as: user, parentDeath }
  throw new Error(
    'Postgres does not run as root, and this machine has no way to run it as somebody else (unshare or setpriv). ' +
      'Start as another user, or set DATABASE_URL to use a Postgres of your own',
  )
}

/** Gives the arguments for `env` that run a program of Postgres the launcher's way. */
export function commandFor(launcher: Launcher, program: readonly string[]): string[] {
  const deathSignal = launcher.parentDeath === 'signal' ? ['--pdeathsig', 'INT'] : []
  if (launcher.as.kind === 'user') return [...asUser(launcher.as.uid, launcher.as.gid), ...deathSignal, ...program]
  // setpriv comes last: a change of user takes the death signal away again.
  return [
    ...(launcher.as.kind === 'namespace' ? NAMESPACE : []),
    ...(launcher.parentDeath === 'signal' ? ['setpriv', ...deathSignal] : []),
    ...program,
  ]
}

/** As {@link commandFor}, for the server: without a death signal, it ends when its standard input closes. */
export function serverCommandFor(launcher: Launcher, program: readonly string[]): string[] {
  const command = commandFor(launcher, program)
  return launcher.parentDeath === 'signal' ? command : ['sh', '-c', END_WITH_INPUT, 'sh', ...command]
}

const END_WITH_INPUT = '"$@" </dev/null & p=$!; trap "" INT TERM; cat >/dev/null; kill -INT $p; wait $p'

function asUser(uid: number, gid: number): string[] {
  const capability = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override']
  return ['setpriv', '--reuid', String(uid), '--regid', String(gid), '--clear-groups', ...capability]
}

async function works(command: readonly string[]): Promise<boolean> {
  return run('env', command).then(
    () => true,
    () => false,
  )
}
