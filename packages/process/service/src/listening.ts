import { SettingsError } from '@sluice/config'

/**
 * Waits until a server listens at `<app>_HOST` and `<app>_PORT`, and returns the result of `listening`. Throws
 * {@link SettingsError}, which names the setting, if the port is in use or the system refuses the address.
 */
export async function untilListening<Result>(app: string, listening: Promise<Result>): Promise<Result> {
  try {
    return await listening
  } catch (error) {
    const problem = problemOf(app, Object(error))
    throw problem === undefined ? error : new SettingsError(`Settings:\n  ${problem}`)
  }
}

function problemOf(app: string, { code, address, port }: Record<string, unknown>): string | undefined {
  const setting = `${app}_PORT`
  if (code === 'EADDRINUSE')
    return `${setting} ${port} is in use. Stop the program that listens there, or set another port`
  if (code === 'EACCES') return `${setting} ${port} needs privileges. Set ${setting} to a port above 1023`
  return code === 'EADDRNOTAVAIL' ? `${app}_HOST ${address} is not an address of this machine` : undefined
}
