import { execFile } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { promisify } from 'node:util'

/**
 * How to run Postgres's programs on this machine. Two problems prevent spawning them directly:
 *
 * - Postgres refuses to run as root. Under root on Linux it runs in a user namespace that shows root's user ID as
 *   `nobody`. Root keeps owning the files, and directories that only root can enter are no obstacle. The kernel may
 *   refuse namespaces (as in most containers), or a directory of another user may be inaccessible in one. Then Postgres
 *   runs as another user, with the single capability that lets it access its files.
 * - Postgres outlives a killed parent. Linux sends it SIGINT (a fast shutdown) when the parent dies. On other systems,
 *   an intermediate shell notices that the pipe from the parent has closed.
 */
export interface Launcher {
  as: { kind: 'self' } | { kind: 'namespace' } | { kind: 'user'; uid: number; gid: number }
  parentDeath: 'signal' | 'pipe'
}

/** The ID of `nobody`, a user that initdb finds in /etc/passwd on every system. */
const nobodyId = 65_534

const namespaceCommand = ['unshare', '-U', `--map-user=${nobodyId}`, `--map-group=${nobodyId}`]

const run = promisify(execFile)

/**
 * Chooses how to run Postgres on a data directory. The directory need not exist yet, but its parent must.
 *
 * The choice depends on the owner of the directory, so that an existing directory keeps the choice that it was created
 * with. `postgres` is the path of the server's program. Throws if the process is root and has no way to run it.
 */
export async function chooseLauncher(postgres: string, dataDirectory: string): Promise<Launcher> {
  const signal = await works(['setpriv', '--pdeathsig', 'INT', 'true'])
  const parentDeath = signal ? 'signal' : 'pipe'
  if (process.getuid?.() !== 0) return { as: { kind: 'self' }, parentDeath }

  const probe = ['sh', '-c', 'test -w "$1" && "$2" --version', 'sh', dirname(dataDirectory), postgres]
  const owner = await stat(dataDirectory).catch(() => undefined)
  const isRoots = owner === undefined || owner.uid === 0
  if (isRoots && (await works([...namespaceCommand, ...probe]))) return { as: { kind: 'namespace' }, parentDeath }
  const user = { uid: isRoots ? nobodyId : owner.uid, gid: isRoots ? nobodyId : owner.gid }
  if (signal && (await works([...asUser(user.uid, user.gid), ...probe])))
    return { as: { kind: 'user', ...user }, parentDeath }
  throw new Error(
    'Postgres does not run as root, and this machine has no way to run it as somebody else (unshare or setpriv). ' +
      'Start as another user, or set DATABASE_URL to use a Postgres of your own',
  )
}

/** Returns the arguments for `env` that run a program of Postgres with this launcher. */
export function commandFor(launcher: Launcher, program: readonly string[]): string[] {
  const deathSignal = launcher.parentDeath === 'signal' ? ['--pdeathsig', 'INT'] : []
  if (launcher.as.kind === 'user') return [...asUser(launcher.as.uid, launcher.as.gid), ...deathSignal, ...program]
  // setpriv comes last, because a change of user clears the death signal.
  return [
    ...(launcher.as.kind === 'namespace' ? namespaceCommand : []),
    ...(launcher.parentDeath === 'signal' ? ['setpriv', ...deathSignal] : []),
    ...program,
  ]
}

/**
 * Returns the arguments for `env` that run the server. Where Linux's death signal is missing, a shell ends the server
 * when its standard input closes.
 */
export function serverCommandFor(launcher: Launcher, program: readonly string[]): string[] {
  const command = commandFor(launcher, program)
  return launcher.parentDeath === 'signal' ? command : ['sh', '-c', endWithInput, 'sh', ...command]
}

const endWithInput = '"$@" </dev/null & p=$!; trap "" INT TERM; cat >/dev/null; kill -INT $p; wait $p'

function asUser(uid: number, gid: number): string[] {
  const user = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups']
  const capability = ['--inh-caps', '+dac_override', '--ambient-caps', '+dac_override']
  // Postgres finds its own programs with access(2), which ignores the capability without this bit.
  return ['setpriv', ...user, ...capability, '--securebits', '+no_setuid_fixup']
}

async function works(command: readonly string[]): Promise<boolean> {
  return run('env', command).then(
    () => true,
    () => false,
  )
}
