import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

/**
 * How to run Postgres's programs here. Two things stand in the way of plainly spawning them:
 *
 * - Postgres refuses to run as root. Under root on Linux it runs in a user namespace in which root's own number reads
 *   as `nobody`: files stay root's, and directories that only root can enter do no harm. Where the kernel refuses
 *   namespaces (as in most containers), or they don't help because somebody else's directory is in the way, it runs as
 *   another user, with the one capability that lets it reach its files all the same.
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
 * Chooses the way to run Postgres on a data directory, which need not exist yet, but stands in a folder that does.
 *
 * Whose the directory is decides, so that a directory keeps the way that it was made with. `postgres` is the server's
 * program. Throws where root has no way to run it.
 */
export async function chooseLauncher(postgres: string, dataDirectory: string): Promise<Launcher> {
  const signal = await works(['setpriv', '--pdeathsig', 'INT', 'true'])
  const parentDeath = signal ? 'signal' : 'pipe'
  if (process.getuid?.() !== 0) return { as: { kind: 'self' }, parentDeath }

  const probe = ['sh', '-c', 'test -w "$1" && "$2" --version', 'sh', dirname(dataDirectory), postgres]
  const owner = await stat(dataDirectory).catch(() => undefined)
  const ofRoot = owner === undefined || owner.uid === 0
  if (ofRoot && (await works([...NAMESPACE, ...probe]))) return { as: { kind: 'namespace' }, parentDeath }
  const user = { uid: ofRoot ? NOBODY : owner.uid, gid: ofRoot ? NOBODY : owner.gid }
  if (signal && (await works([...asUser(user.uid, user.gid), ...probe])))
    return { as: { kind: 'user', ...user }, parentDeath }
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
  const user = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups']
  const capability = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override']
  // Without this bit access(2), with which Postgres looks for its own programs, overlooks the capability.
  return ['setpriv', ...user, ...capability, '--securebits', '+no_setuid_fixup']
}

async function works(command: readonly string[]): Promise<boolean> {
  return run('env', command).then(
    () => true,
    () => false,
  )
}
