import { freePort, isFree } from '../ports.ts'

/** A port that a part of the stack will listen on. */
export interface WantedPort {
  /** The setting that determines the port, such as `API_PORT`. */
  setting: string
  host: string
  /** The wanted port; 0 for any free port. */
  port: number
}

/**
 * Returns the port of each setting (design.md §2, Ports). Free ports are picked here and not by the parts, so that a
 * restarted part keeps its address. Throws an error that names every setting whose port is in use, or both settings if
 * two have the same port.
 */
export async function choosePorts(wanted: readonly WantedPort[]): Promise<Map<string, number>> {
  const chosen = new Map<string, number>()
  const taken = new Map<number, string>()
  const inUse: WantedPort[] = []
  // Given ports come first, so that none of them is picked as a free port.
  for (const { setting, host, port } of wanted.toSorted((a, b) => b.port - a.port)) {
    const choice = port === 0 ? await otherFreePort(host, taken) : port
    const rival = taken.get(choice)
    if (rival !== undefined) throw new Error(`${rival} and ${setting} are both ${choice}`)
    if (port !== 0 && !(await isFree(host, port))) inUse.unshift({ setting, host, port })
    taken.set(choice, setting)
    chosen.set(setting, choice)
  }
  if (inUse.length > 0) throw new Error(describe(inUse))
  return chosen
}

function describe(inUse: readonly WantedPort[]): string {
  const ports = new Intl.ListFormat('en-GB').format(inUse.map(({ setting, port }) => `${setting} ${port}`))
  const free = inUse.map(({ setting }) => `${setting}=0`).join(' ')
  return inUse.length === 1
    ? `${ports} is in use. Stop the program that listens there, or set another port: ${free} picks a free one`
    : `${ports} are in use. Stop the programs that listen there, or set other ports: ${free} picks free ones`
}

async function otherFreePort(host: string, taken: ReadonlyMap<number, string>): Promise<number> {
  for (;;) {
    const port = await freePort(host)
    if (!taken.has(port)) return port
  }
}
